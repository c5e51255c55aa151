// Compiled by types.test.mjs, never run: `emend/service` and `emend/service-client` as a consumer's program sees them.

import { createService, type Service, type ServiceEvent, type ServiceOptions } from "emend/service";
import { createClient, type JobRecord, type SessionRecord } from "emend/service-client";

const options: ServiceOptions = {
  files: { "a.txt": "one\n" },
  model: { provider: "offline", paceMs: 5 },
  models: { local: { provider: "openai_compatible", model: "m", baseUrl: "http://127.0.0.1:11434/v1" } },
  limits: { max_running_jobs: 2 },
};
const service: Service = await createService(options);
const response: Response = await service.fetch("/api/agent/sessions", { method: "GET" });
const settings: Record<string, number> = await service.request("GET", "/api/agent/settings");
for await (const event of service.events({ session: "s", after: 3 })) {
  if (event.type !== "resync_required") {
    const { cursor, seq } = event as ServiceEvent;
    console.log(cursor + seq);
  }
}

// A service is a `fetch` for the typed client.
const client = createClient({ fetch: service.fetch });
const session: SessionRecord = await client.call("CreateSession", { body: { title: "t", mode: "review" } });
const { job_id } = await client.call("Run", { body: { session_id: session.session_id, instruction: "x" } });
const { jobs }: { jobs: JobRecord[] } = await client.call("ListJobs", { session_id: session.session_id });
await client.call("ListSessions");
await client.call("GetSettings", {}, { signal: AbortSignal.timeout(5) });
// @ts-expect-error: the mode has another name.
await client.call("CreateSession", { body: { mode: "staged" } });
// @ts-expect-error: the id is missing.
await client.call("GetJob", {});
// @ts-expect-error: there is no such operation.
await client.call("Nothing");
// @ts-expect-error: sessions have modes, the service has none.
await createService({ mode: "direct" });
console.log(response.status, settings.max_sessions, job_id, jobs.length);
await service.close();
