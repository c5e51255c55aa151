// Addresses of servers, as the user gives them and servers print them.

import assert from "node:assert/strict";
import test from "node:test";
import { serverAt } from "../src/own-server.js";

test("the page joins servers by HTTPS, on this computer, and the one that it comes from", () => {
  const own = "http://192.168.1.5:4120";
  const cases: readonly (readonly [string, ReturnType<typeof serverAt>])[] = [
    ["http://127.0.0.1:4120/", { url: "http://127.0.0.1:4120", token: "" }],
    ["http://192.168.1.5:4120/?token=a%2Db", { url: "http://192.168.1.5:4120", token: "a-b" }],
    ["https://example.com/emend/", { url: "https://example.com/emend", token: "" }],
    ["http://192.168.1.6:4120/", null],
    ["http://192.168.1.5:4121/", null],
    ["http://localhost@example.com/", null],
    ["ftp://localhost/", null],
    ["192.168.1.5", null],
  ];
  for (const [address, expected] of cases) assert.deepEqual(serverAt(address, own), expected, address);
});
