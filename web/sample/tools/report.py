"""Prints the list that hangs at the door: every variety and how many packets are left."""

import json
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["varieties"]


def report(varieties):
    lines = []
    for variety in sorted(varieties, key=lambda v: v["name"]):
        packets = variety["packets"]
        note = "" if packets else "  (bring some back!)"
        lines.append(f"{packets:4}  {variety['name']}{note}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(load(sys.argv[1])))
