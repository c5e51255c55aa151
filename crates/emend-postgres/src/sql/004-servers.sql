-- Several servers on one database. Version 4 of the schema `emend`; it is never changed.

-- Stores a change of a session together with a change of the work on one of its jobs, as one transaction. `p_run` is
-- the claim under which a server makes the change; without it, the change is one of a user. `p_cursor` is the cursor
-- of the session that the caller has read: another one tells that another server has changed the session since.
CREATE FUNCTION emend.commit_work(
    p_cursor bigint, p_run uuid, p_steps text[], p_results text[], p_kind text, p_key text, p_payload jsonb,
    p_change uuid, p_at bigint,
    p_session_id text, p_updated_at bigint, p_status text, p_title text, p_session_body json, p_text text,
    p_jobs text[], p_job_sessions text[], p_job_open boolean[], p_job_cursors bigint[], p_job_bodies json[],
    p_kinds text[], p_event_jobs text[], p_data json[],
    p_purged text[], p_keep bigint
) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
    v_answer json;
    v_cursor bigint;
    v_task uuid;
BEGIN
    SELECT cursor INTO v_cursor FROM emend.sessions WHERE id = p_session_id FOR UPDATE;
    -- The row is locked: a first try of this change has ended.
    SELECT answer INTO v_answer FROM emend.changes WHERE id = p_change;
    IF FOUND THEN
        RETURN v_answer;
    END IF;
    IF p_run IS NOT NULL THEN
        v_task := emend.fence(p_run);
    END IF;
    IF v_cursor <> p_cursor THEN
        RAISE EXCEPTION 'session % has changed meanwhile', p_session_id USING ERRCODE = 'EM003';
    END IF;
    FOR n IN 1 .. coalesce(array_length(p_steps, 1), 0) LOOP
        PERFORM absurd.set_task_checkpoint_state('emend', v_task, p_steps[n], p_results[n]::jsonb, p_run);
    END LOOP;
    -- Waiting workers are woken by the commit.
    IF p_kind = 'submit' THEN
        PERFORM emend.submit_job(p_key, p_payload, 1000);
    ELSIF p_kind = 'answer' THEN
        PERFORM emend.answer(p_key, p_payload);
    ELSIF p_kind = 'wait' THEN
        PERFORM absurd.await_event('emend', v_task, p_run, 'wait:' || p_key, p_key);
    ELSIF p_kind = 'end' THEN
        PERFORM absurd.complete_run('emend', p_run, p_payload);
    END IF;
    RETURN emend.commit_session(p_change, NULL, p_at, p_session_id, p_updated_at, p_status, p_title, p_session_body,
        p_text, p_jobs, p_job_sessions, p_job_open, p_job_cursors, p_job_bodies, p_kinds, p_event_jobs, p_data,
        p_purged, p_keep);
END
$$;

-- Gives a claim back: the next worker can take the job at once.
CREATE FUNCTION emend.release_claim(p_run uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM emend.fence(p_run);
    PERFORM absurd.schedule_run('emend', p_run, absurd.current_time());
    PERFORM pg_notify('emend_jobs', '');
END
$$;

-- The project whose jobs are in this database. Servers of other files must not run them.
CREATE TABLE emend.project (id int PRIMARY KEY CHECK (id = 1), name text NOT NULL);

-- Returns whether the database belongs to a project. The first one gets it.
CREATE FUNCTION emend.belongs_to(p_name text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO emend.project VALUES (1, p_name) ON CONFLICT DO NOTHING;
    RETURN EXISTS (SELECT FROM emend.project WHERE name = p_name);
END
$$;
