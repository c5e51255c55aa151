-- Jobs on Absurd: the fence, and changes that begin with it. Version 3 of the schema `emend`; it is never changed.
--
-- All jobs are in the queue `emend`. The functions refer to Absurd's tables only when they run, so this file does not
-- need them.

-- Locks a run, and refuses one that has lost its claim. Absurd's own functions look at the state of a run and not at
-- the end of its claim: between that end and the next claim, a stalled worker could still write. This comes first in
-- every transaction that records a step, ends a job, or allows a change of files.
CREATE FUNCTION emend.fence(p_run uuid) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    v_task uuid;
    v_state text;
    v_until timestamptz;
BEGIN
    SELECT task_id, state, claim_expires_at INTO v_task, v_state, v_until
        FROM absurd.r_emend WHERE run_id = p_run FOR UPDATE;
    IF v_task IS NULL OR v_state <> 'running' OR v_until IS NULL OR v_until <= clock_timestamp() THEN
        RAISE EXCEPTION 'run % has lost its claim (%)', p_run, coalesce(v_state, 'unknown') USING ERRCODE = 'EM002';
    END IF;
    RETURN v_task;
END
$$;

-- Adds a job, unless one with the key exists, and wakes waiting workers.
CREATE FUNCTION emend.submit_job(p_key text, p_params jsonb, p_attempts int) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    v_task uuid;
BEGIN
    SELECT task_id INTO v_task FROM absurd.spawn_task('emend', 'job', p_params, jsonb_build_object(
        'idempotency_key', p_key, 'max_attempts', p_attempts, 'retry_strategy', jsonb_build_object('kind', 'none')));
    PERFORM pg_notify('emend_jobs', '');
    RETURN v_task;
END
$$;

-- Records the result of a step under the fence.
CREATE FUNCTION emend.record_step(p_run uuid, p_step text, p_state jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_task uuid := emend.fence(p_run);
BEGIN
    PERFORM absurd.set_task_checkpoint_state('emend', v_task, p_step, p_state, p_run);
END
$$;

-- Prolongs a claim that is still in force.
CREATE FUNCTION emend.renew_claim(p_run uuid, p_seconds int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM emend.fence(p_run);
    PERFORM absurd.extend_claim('emend', p_run, p_seconds);
END
$$;

-- Ends a job with its result under the fence.
CREATE FUNCTION emend.end_job(p_run uuid, p_result jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM emend.fence(p_run);
    PERFORM absurd.complete_run('emend', p_run, p_result);
END
$$;

-- Answers the question of a job, and wakes waiting workers. The first answer counts.
CREATE FUNCTION emend.answer(p_event text, p_payload jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM absurd.emit_event('emend', p_event, p_payload);
    PERFORM pg_notify('emend_jobs', '');
END
$$;
