"""Checks `emend serve` against its own OpenAPI document.

Part 1 calls every operation at least once with success, and compares each reply with its schema. Part 2 lets
schemathesis generate valid and invalid requests for every operation. Part 3 lets it follow the links of the document, from
the ids of one reply to the next request. The last line is `N passed, N failed`.

Two variables reduce the number of generated requests: EMEND_CONTRACT_EXAMPLES for each operation, and
EMEND_CONTRACT_LINKED_EXAMPLES for the chains of requests. The exceptions from the checks are in the lists below.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import requests
import schemathesis

TOKEN = "token-of-the-contract"
RENAME = "rename colour to color in notes.md"
# A stream does not end, so schemathesis would wait for the rest of each. `refused_streams` sends their wrong requests.
STREAMS = ["JobStream", "AllStream"]
EXAMPLES = os.environ.get("EMEND_CONTRACT_EXAMPLES", "15")
LINKED_EXAMPLES = os.environ.get("EMEND_CONTRACT_LINKED_EXAMPLES", "100")
LINKS_MIN = 10
# The statuses that schemathesis accepts for a request that matches its schema, and for one that does not. 429 is among the
# first ones: a generated request can give the session a budget that is used up.
VALID = ["2xx", "401", "403", "404", "409", "429"]
INVALID = ["400", "401", "403", "404", "405", "406", "409", "415", "422", "428", "429"]
# These operations may also refuse a request that matches its schema. Each reason is a rule that no schema of one field states.
REFUSED = {
    "AddComment": "`end_line` is at least `start_line`",
    "CanvasReadLines": "either lines or a section are named, and `end_line` is at least `start_line`",
    "CreateSession": "the host knows the names of the models",
    "Decide": "exactly one of five fields chooses the hunks",
    "ListFiles": "a glob has a grammar of its own",
    "ListSessions": "`after` is the opaque `next` of the page before",
    "PreviewDecision": "as Decide",
    "Rewind": "`conversation` or `files` is true",
    "RollBack": "`hunk_ids` is empty for `hard_all`",
    "SearchFiles": "a glob has a grammar of its own, and a query has 1 to 64 words",
    "Split": "`line` is between two changed lines of the hunk",
    "UpdateSession": "the host knows the names of the models, and whether it has a second one",
}
# A number that is not that of a kept event is answered with 410, so that the client reads the state again. That holds for a
# number that is too large, which matches the schema, and for a malformed one, which does not.
RESYNC = ["AllEvents", "JobEvents"]
# The check `ensure_resource_availability` takes a 404 after the creation of the resource in the path for a loss of it. These
# operations also answer 404 for another reason.
ELSEWHERE = {
    "AddComment": "the body names a file that does not exist",
    "Rewind": "the body names a job that does not exist",
    **{
        f"Canvas{name}": "no file is open in the canvas, or the body names a file that does not exist"
        for name in ["ApplyPatch", "CheckIn", "CheckOut", "EditLines", "Grep", "Open", "Promote", "ReadAll", "ReadLines", "RenewLease"]
    },
    "CanvasUserEdit": "no file is open in the canvas",
    **{
        f"{name}FollowUp": "the follow-up has left the queue, because its job has begun"
        for name in ["Edit", "Send", "Withdraw"]
    },
}


class Model(BaseHTTPRequestHandler):
    """A model of the Chat Completions API that asks one question, because the offline model never asks."""

    def do_POST(self):
        request = self.rfile.read(int(self.headers["Content-Length"])).decode()
        arguments = json.dumps({"question": "Which name?"})
        call = {"index": 0, "id": "call_0", "type": "function"}
        call["function"] = {"name": "clarify_user", "arguments": arguments}
        first = ({"tool_calls": [call]}, "tool_calls")
        delta, reason = ({"content": "Done."}, "stop") if "tool_call_id" in request else first
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_):
        pass


class Server:
    """A server over a project in a temporary directory."""

    def __init__(self, program, folder):
        self.root = Path(folder, "project")
        self.root.mkdir()
        self.reset()
        limits = ["MAX_SESSIONS", "MAX_RUNNING_JOBS", "MAX_JOBS_PER_SESSION", "MAX_FOLLOW_UPS"]
        variables = {f"EMEND_{name}": "0" for name in limits}
        model = HTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=model.serve_forever, daemon=True).start()
        variables["OPENAI_COMPATIBLE_BASE_URL"] = f"http://127.0.0.1:{model.server_port}/v1"
        # The server would warn about the variables of this program.
        given = {name: value for name, value in os.environ.items() if not name.startswith("EMEND_CONTRACT_")}
        own = {"EMEND_TOKEN": TOKEN, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
        command = [Path(program).resolve(), "serve", "--port", "0", "--model", "offline", "--log", "none", "--rate-limit", "0"]
        self.process = subprocess.Popen(
            command, cwd=self.root, env={**given, **own, **variables}, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        self.url = line.strip().rstrip("/").split(" at ")[-1]
        self.client = requests.Session()
        self.client.headers["Authorization"] = f"Bearer {TOKEN}"

    def reset(self):
        (self.root / "notes.md").write_text("The colour of the sky.\nSecond line.\n")
        (self.root / "many.md").write_text("red one\nred two\n")
        (self.root / "other.md").write_text("one\ntwo\n")
        # A tool that reads it has an output that is kept whole.
        (self.root / "long.md").write_text("A line of text that is long enough.\n" * 2000 + "violet\n")

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=30)


class Contract:
    """Sends requests by operation and compares replies with the document."""

    def __init__(self, server):
        self.server = server
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self.schema = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json", headers=headers)
        document = server.client.get(f"{server.url}/api/openapi.json").json()
        self.operations = {}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                self.operations[operation["operationId"]] = (method.upper(), path)
        self.succeeded = set()
        self.found = {}

    @property
    def problems(self):
        """Each problem once."""
        return list(self.found)

    def add(self, problem):
        self.found.setdefault(problem)

    def call(self, name, body=None, query=None, expected=None, headers=None, **ids):
        method, path = self.operations[name]
        address = self.server.url + path.format(**ids)
        response = self.server.client.request(method, address, params=query, json=body, headers=headers, timeout=30)
        if expected is None and not response.ok:
            self.add(f"{name}: {response.status_code} {response.text[:300]}")
        if expected is not None and response.status_code != expected:
            self.add(f"{name}: {response.status_code}, not {expected}: {response.text[:300]}")
        try:
            self.schema[path][method].validate_response(response)
        except Exception as failure:  # schemathesis raises groups of failures
            details = getattr(failure, "exceptions", [failure])
            self.add(f"{name}: {'; '.join(str(detail)[:600] for detail in details)}")
        if response.ok:
            self.succeeded.add(name)
        return response.json() if response.content else {}

    def stream(self, name, query=None, second=None, **ids):
        """Opens a stream and reads its first message, and the second one if its type is given."""
        _, path = self.operations[name]
        address = self.server.url + path.format(**ids)
        with self.server.client.get(address, params=query, stream=True, timeout=30) as response:
            lines = response.iter_lines(decode_unicode=True)
            data = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
            # The numbers come first: after them, `zip` would wait for a third message, which is the next heartbeat.
            types = [message["type"] for _, message in zip(range(2 if second else 1), data)]
            kind = response.headers["Content-Type"]
            is_right = types == ["attached", *([second] if second else [])]
            if response.status_code == 200 and kind == "text/event-stream" and is_right:
                self.succeeded.add(name)
            else:
                self.add(f"{name} {query}: {response.status_code} {kind} {types}")

    def job(self, session_id, instruction):
        """Runs a job until it waits or ends."""
        job_id = self.call("Run", {"session_id": session_id, "instruction": instruction})["job_id"]
        for _ in range(2000):
            state = self.call("GetJob", job_id=job_id)
            if state["status"] not in ("queued", "running"):
                return state
            time.sleep(0.005)
        raise SystemExit(f"the job does not end: {state}")


def scenario(contract):
    """Uses every operation with success. Returns ids for generated requests."""
    call = contract.call
    session_id = call("CreateSession", {"title": "contract"})["session_id"]
    for name in ["GetSession", "ListJobs", "ListFollowUps", "ListComments", "ListPermissions"]:
        call(name, session_id=session_id)
    for name in ["ListSessions", "AllEvents", "GetReview", "ListCheckpoints", "GetSettings"]:
        call(name)
    call("GetBuffer", query={"file_path": "notes.md"})
    call("ListFiles", query={"glob": "*.md", "limit": 1})
    call("SearchFiles", query={"query": "second"})
    call("UpdateSession", {"title": "changed"}, session_id=session_id)
    first = contract.job(session_id, RENAME)
    for name in ["JobEvents", "JobTrace"]:
        call(name, job_id=first["job_id"])
    contract.stream("JobStream", job_id=first["job_id"])
    contract.stream("AllStream")
    refused_streams(contract, first["job_id"])
    hunk = first["diff_bundle"]["files"][0]["hunks"][0]["hunk_id"]
    apply = {"session_id": session_id, "job_id": first["job_id"], "accepted_hunk_ids": [hunk]}
    call("Apply", apply)
    call("Apply", apply, expected=409)
    call("Undo")
    call("Redo")
    call("Decide", {"decision": "accept", "all": True})
    call("UserEdit", {"file_path": "other.md", "content": "one\ntwo\nthree\n", "save": False})
    call("Save", {"file_paths": ["other.md"]})
    comment = {"file_path": "other.md", "start_line": 1, "end_line": 1, "text": "Why?"}
    comments = call("AddComment", comment, session_id=session_id)["comments"]
    call("RemoveComment", session_id=session_id, comment_id=comments[0]["comment_id"])
    call("AddComment", comment, session_id=session_id)
    call("SendComments", session_id=session_id)
    asked(contract)
    follow_ups(contract)
    canvas(contract)
    more(contract, session_id, first)
    gone = call("CreateSession", {})["session_id"]
    call("DeleteSession", session_id=gone)
    call("GetSession", expected=404, session_id=gone)
    other = contract.job(call("CreateSession", {})["session_id"], "rename Second to Third in notes.md")
    return {"session_id": other["session_id"], "job_id": other["job_id"]}


def refused_streams(contract, job_id):
    """Sends wrong requests for streams, which schemathesis does not."""
    contract.call("JobStream", expected=404, job_id="none")
    for name in STREAMS:
        contract.call(name, query={"unknown": "1"}, expected=400, job_id=job_id)
        contract.call(name, expected=401, headers={"Authorization": "Bearer wrong"}, job_id=job_id)
        contract.call(name, expected=403, headers={"Origin": "https://evil.example"}, job_id=job_id)
        for number in ["-1", "x", "99999999"]:
            contract.stream(name, query={"after": number}, second="resync_required", job_id=job_id)
        for wrong in ["POST", "PUT", "PATCH", "DELETE"]:
            address = contract.server.url + contract.operations[name][1].format(job_id=job_id)
            response = contract.server.client.request(wrong, address, timeout=30)
            if response.status_code != 405 or "GET" not in response.headers.get("Allow", ""):
                contract.add(f"{wrong} {name}: {response.status_code}, not 405 with Allow")


def asked(contract):
    """Answers a question and an approval request; cancels and steers a job that waits."""
    call = contract.call
    session_id = call("CreateSession", {"mode": "ask"})["session_id"]
    decisions = [
        ("allow_always", "rename one to uno in other.md"),
        ("allow", "rename uno to un in other.md"),
        ("deny", "rename two to due in other.md"),
    ]
    for decision, instruction in decisions:
        state = contract.job(session_id, instruction)
        while state["status"] in ("running", "waiting_for_user"):
            for approval in state["approvals"]:
                body = {"tool_call_id": approval["tool_call_id"], "decision": decision}
                call("Approve", body, job_id=state["job_id"])
            time.sleep(0.05)
            state = call("GetJob", job_id=state["job_id"])
        for permission in call("ListPermissions", session_id=session_id)["permissions"]:
            ids = {"session_id": session_id, "permission_id": permission["permission_id"]}
            call("WithdrawPermission", **ids)
    state = contract.job(session_id, "rename three to tre in other.md")
    call("Steer", {"text": "be quick"}, job_id=state["job_id"])
    call("Cancel", job_id=state["job_id"])
    session_id = call("CreateSession", {"model": "openai_compatible:m"})["session_id"]
    state = contract.job(session_id, "name it")
    if state.get("question"):
        body = {"question_id": state["question"]["question_id"], "answer": "no_user_answer"}
        call("Clarify", body, job_id=state["job_id"])


def follow_ups(contract):
    """Queues instructions behind a job that waits for approval."""
    call = contract.call
    session_id = call("CreateSession", {"mode": "ask"})["session_id"]
    state = contract.job(session_id, "rename three to trois in other.md")
    for text in ["one", "two"]:
        listed = call("AddFollowUp", {"text": text}, session_id=session_id)["follow_ups"]
    first, second = (item["follow_up_id"] for item in listed)
    call("EditFollowUp", {"text": "changed"}, session_id=session_id, follow_up_id=first)
    call("SendFollowUp", session_id=session_id, follow_up_id=first)
    call("WithdrawFollowUp", session_id=session_id, follow_up_id=second)
    call("Cancel", job_id=state["job_id"])


def canvas(contract):
    """Opens a file as canvas and edits it under the lease."""
    call = contract.call
    session_id = call("CreateSession", {})["session_id"]
    call("CanvasOpen", {"file_path": "other.md"}, session_id=session_id)
    call("GetCanvas", session_id=session_id)
    lease = call("CanvasCheckOut", session_id=session_id)
    held = {"lease_id": lease.get("lease_id", "")}
    call("CanvasRenewLease", held, session_id=session_id)
    call("CanvasGrep", {**held, "query": "one"}, session_id=session_id)
    call("CanvasReadLines", {**held, "start_line": 1}, session_id=session_id)
    base = call("CanvasReadAll", held, session_id=session_id).get("revision_id")
    edits = [{"operation": "insert", "start_line": 1, "new_text": "zero\n"}]
    edited = call("CanvasEditLines", {**held, "base_revision_id": base, "edits": edits}, session_id=session_id)
    base = edited.get("revision_id", base)
    patch = "--- a/other.md\n+++ b/other.md\n@@ -1,1 +1,1 @@\n-zero\n+nil\n"
    call("CanvasApplyPatch", {**held, "base_revision_id": base, "patch": patch}, session_id=session_id)
    call("CanvasCheckIn", held, session_id=session_id)
    call("CanvasUserEdit", {"content": "mine\n"}, session_id=session_id)
    call("CanvasTakeBack", session_id=session_id)
    edited = call("CanvasUserEdit", {"content": "draft\n", "save": False}, session_id=session_id)
    seen = {"draft_hash": edited.get("draft_hash", "")}
    call("CanvasPromote", {"draft_hash": edited.get("artefact_hash", "")}, expected=409, session_id=session_id)
    call("CanvasPromote", seen, session_id=session_id)
    call("Run", {"session_id": session_id, "instruction": "count the words in other.md", **seen})


def more(contract, session_id, job):
    """Operations on hunks, the log of changes and checkpoints."""
    call = contract.call
    state = contract.job(session_id, "rename red to blue in many.md")
    found = call("GetReview", query={"job_id": state["job_id"]})["files"][0]["hunks"][0]
    hunk, lines = found["hunk_id"], found["lines"]
    call("PreviewDecision", {"decision": "accept", "all": True})
    added = [at for at, line in enumerate(lines) if line["kind"] == "added"]
    split = call("Split", {"hunk_id": hunk, "line": added[-1]})
    hunks = [hunk for file in split.get("files", []) for hunk in file["hunks"]]
    call("EditHunk", {"hunk_id": hunks[0]["hunk_id"] if hunks else hunk, "text": "green one\n"})
    call("ChangeLog")
    checkpoint = {"checkpoint_id": job["checkpoint_id"]}
    call("GetCheckpoint", **checkpoint)
    call("Diff3", query={"file_path": "notes.md"}, **checkpoint)
    call("RollBack", {"mode": "hard_all", "preview": True}, **checkpoint)
    call("RollBack", {"mode": "hard_all"}, **checkpoint)
    state = contract.job(session_id, "rename Second to Next in notes.md")
    call("Rewind", {"job_id": state["job_id"], "files": True, "preview": True}, session_id=session_id)
    call("Rewind", {"job_id": state["job_id"], "files": True}, session_id=session_id)
    call("UndoRewind", session_id=session_id)
    call("UndoRewind", expected=409, session_id=session_id)
    call("Rewind", {"job_id": state["job_id"]}, session_id=session_id)
    job_id = contract.job(session_id, "rename violet to purple in long.md")["job_id"]
    events = call("JobEvents", job_id=job_id)["events"]
    kept = [event["data"]["output_ref"] for event in events if "output_ref" in event["data"]]
    call("GetOutput", job_id=job_id, output_ref=kept[0])


def schemathesis_run(server, folder, phases, examples, config, excluded):
    """Runs schemathesis. Returns whether it found nothing, and what it printed."""
    file = Path(folder, "schemathesis.toml")
    file.write_text(config)
    program = Path(sys.executable).with_name("schemathesis")
    command = [program, "--config-file", file, "run", f"{server.url}/api/openapi.json"]
    command += ["-H", f"Authorization: Bearer {TOKEN}", "--max-examples", examples, "--seed", "1", "--no-color"]
    command += ["--phases", phases, "--warnings", "off", "--request-timeout", "20"]
    command += ["--generation-database", "none", *(f"--exclude-operation-id={name}" for name in excluded)]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, flush=True)
    return done.returncode == 0, done.stdout


def exceptions(parameters):
    """Returns the settings of the operations that are exceptions from a check or have parameters of their own."""
    lines = ["[checks]", f"positive_data_acceptance.expected-statuses = {json.dumps(VALID)}"]
    for name in sorted({*REFUSED, *RESYNC, *ELSEWHERE, *parameters}):
        lines += ["[[operations]]", f'include-operation-id = "{name}"']
        valid = VALID + ["400"] * (name in REFUSED) + ["410"] * (name in RESYNC)
        lines.append(f"checks.positive_data_acceptance.expected-statuses = {json.dumps(valid)}")
        invalid = INVALID + ["410"] * (name in RESYNC)
        lines.append(f"checks.negative_data_rejection.expected-statuses = {json.dumps(invalid)}")
        if name in ELSEWHERE:
            lines.append("checks.ensure_resource_availability.enabled = false")
        lines += [f'parameters."{key}" = "{value}"' for key, value in parameters.get(name, {}).items()]
    return "\n".join(lines) + "\n"


def generated(server, ids, gone, folder):
    """Generates requests for each operation apart. Returns whether there was no finding.

    The session `gone` is the one to delete: the other operations need theirs.
    """
    lines = [f'"path.{name}" = "{value}"' for name, value in ids.items()]
    config = "[parameters]\n" + "\n".join(lines) + "\n" + exceptions({"DeleteSession": {"path.session_id": gone}})
    return schemathesis_run(server, folder, "examples,coverage,fuzzing", EXAMPLES, config, STREAMS)[0]


def linked(server, folder):
    """Follows links from reply to reply. Returns whether there was no finding and enough links were followed."""
    is_clean, text = schemathesis_run(server, folder, "stateful", LINKED_EXAMPLES, exceptions({}), STREAMS)
    followed = re.search(r"API Links: +(\d+) covered", text)
    return is_clean and followed is not None and int(followed[1]) >= LINKS_MIN


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(sys.argv[1], folder)
        try:
            contract = Contract(server)
            try:
                ids = scenario(contract)
            finally:
                print("\n".join(contract.problems), flush=True)
            missing = sorted(set(contract.operations) - contract.succeeded)
            for name in missing:
                contract.add(f"{name} never succeeded")
                print(contract.problems[-1])
            gone = contract.call("CreateSession", {})["session_id"]
            is_clean = generated(server, ids, gone, folder)
            is_deleted = contract.call("GetSession", expected=404, session_id=gone)["ok"] is False
            is_linked = linked(server, folder)
            still = server.client.get(f"{server.url}/health").ok
        finally:
            server.end()
    outcomes = [is_clean, is_deleted, is_linked, still]
    failed = len(contract.problems) + outcomes.count(False)
    print(f"{len(contract.succeeded)} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
