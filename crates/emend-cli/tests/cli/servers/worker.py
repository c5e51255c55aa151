"""A worker of another program: its task enqueues jobs of Emend and reads their results.

Arguments: the URL of the database, the id of a session, and the instructions.
"""

import json
import sys
import time

from absurd_sdk import Absurd

url, session, *instructions = sys.argv[1:]
emend = Absurd(url, queue_name="emend")
reports = Absurd(url, queue_name="reports")
reports.create_queue()


@reports.register_task("report")
def report(params, context):
    """Submits each instruction once, although the worker may be started again."""
    results = []
    for number, job in enumerate(params["jobs"]):
        key = f"report {params['name']} {number}"
        spawned = context.step(
            f"submit {number}",
            # A step is recorded as JSON, which has no UUIDs.
            lambda: str(emend.spawn("job", job, queue="emend", max_attempts=1000, idempotency_key=key)["task_id"]),
        )
        done = context.await_task_result(spawned, queue_name="emend", timeout=60)
        results.append({"state": done.state, "result": done.result})
    return results


jobs = [{"instruction": instructions[0], "session_id": session}]
jobs += [{"instruction": instruction} for instruction in instructions[1:]]
jobs += [{"instruction": ""}, {"instruction": "x", "session_id": "none"}]
task = reports.spawn("report", {"name": session, "jobs": jobs})
done = None
while done is None or done.state not in ("completed", "failed", "cancelled"):
    # A task that waits leaves the worker.
    reports.work_batch("python worker")
    time.sleep(0.1)
    done = reports.fetch_task_result(task["task_id"])
print(json.dumps({"state": done.state, "results": done.result, "failure": done.failure}))
