-- Sessions, jobs and events of the review service. Version 1 of the schema `emend`; it is never changed.
--
-- The conventions are those of the SQLite store: titles and texts are in the form in which they are searched, and the
-- number of a job is its place in the order of creation. Ids compare by bytes. Bodies are of the type `json` because
-- `jsonb` cannot hold a NUL within a text.

-- Numbers of the newest event and of the newest dropped event of the whole store. A commit locks this row last, so that
-- the numbers become visible in their order.
CREATE TABLE emend.counters (
    id int PRIMARY KEY CHECK (id = 1),
    seq bigint NOT NULL,
    floor bigint NOT NULL,
    -- Number of the present server; a commit that names another one is refused.
    server bigint NOT NULL
);
INSERT INTO emend.counters VALUES (1, 0, 0, 0);

CREATE TABLE emend.sessions (
    num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    updated_at bigint NOT NULL,
    status text NOT NULL,
    title text COLLATE "C" NOT NULL,
    cursor bigint NOT NULL,
    floor bigint NOT NULL,
    body json NOT NULL
);
CREATE INDEX sessions_by_time ON emend.sessions (updated_at DESC, id);
CREATE INDEX sessions_by_status ON emend.sessions (status, updated_at DESC, id);

CREATE TABLE emend.jobs (
    num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    session_id text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    n_events bigint NOT NULL,
    last bigint NOT NULL,
    floor bigint NOT NULL,
    -- The `cursor` of the record; the one in the body is older.
    cursor bigint NOT NULL,
    body json NOT NULL
);
CREATE INDEX jobs_by_session ON emend.jobs (session_id, num);
CREATE INDEX jobs_open ON emend.jobs (num) WHERE is_open;

CREATE TABLE emend.events (
    seq bigint PRIMARY KEY,
    session bigint NOT NULL,
    cursor bigint NOT NULL,
    job bigint,
    job_id text,
    kind text NOT NULL,
    ts bigint NOT NULL,
    data json NOT NULL
);
CREATE UNIQUE INDEX events_by_session ON emend.events (session, cursor);
CREATE INDEX events_by_job ON emend.events (job, cursor) WHERE job IS NOT NULL;

CREATE TABLE emend.texts (
    num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL,
    body text COLLATE "C" NOT NULL
);
CREATE INDEX texts_by_session ON emend.texts (session);

-- Answers of changes by the number that the caller chose. A caller whose connection broke repeats the change with the
-- same number and gets the answer of the first try.
CREATE TABLE emend.changes (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    answer json NOT NULL
);
CREATE INDEX changes_by_time ON emend.changes (at);

-- Without the extension a search reads all texts. The owner of a database may create it, other users may not.
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;
    CREATE INDEX texts_by_part ON emend.texts USING gin (body public.gin_trgm_ops);
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'searches have no index: %', SQLERRM;
END
$$;

-- Drops the oldest events of a job of the session, all but `p_keep`.
CREATE FUNCTION emend.drop_events(p_session_id text, p_job_id text, p_keep bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_job emend.jobs;
    v_cursor bigint;
    v_seq bigint;
BEGIN
    SELECT * INTO v_job FROM emend.jobs WHERE id = p_job_id AND session_id = p_session_id FOR UPDATE;
    IF NOT FOUND OR v_job.n_events <= p_keep THEN
        RETURN;
    END IF;
    SELECT cursor, seq INTO v_cursor, v_seq FROM emend.events WHERE job = v_job.num
        ORDER BY cursor OFFSET v_job.n_events - p_keep - 1 LIMIT 1;
    DELETE FROM emend.events WHERE job = v_job.num AND cursor <= v_cursor;
    UPDATE emend.jobs SET n_events = p_keep, floor = v_cursor WHERE num = v_job.num;
    UPDATE emend.sessions SET floor = greatest(floor, v_cursor) WHERE id = p_session_id;
    UPDATE emend.counters SET floor = greatest(floor, v_seq);
END
$$;

-- Refuses a change of a server that another one has replaced. NULL is a program that is not a server. The caller has
-- locked the row of counters.
CREATE FUNCTION emend.check_server(p_server bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_server IS NOT NULL AND p_server <> (SELECT server FROM emend.counters) THEN
        RAISE EXCEPTION 'another server has taken over this database' USING ERRCODE = 'EM001';
    END IF;
END
$$;

-- Stores a change of a session as one transaction, and returns the numbers before its events: cursor and seq, and the
-- cursors of its jobs. Rows are locked in the order session, jobs, counters.
CREATE FUNCTION emend.commit_session(
    p_change uuid, p_server bigint, p_at bigint,
    p_session_id text, p_updated_at bigint, p_status text, p_title text, p_session_body json, p_text text,
    p_jobs text[], p_job_sessions text[], p_job_open boolean[], p_job_cursors bigint[], p_job_bodies json[],
    p_kinds text[], p_event_jobs text[], p_data json[],
    p_purged text[], p_keep bigint
) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
    v_answer json;
    v_num bigint;
    v_cursor bigint;
    v_seq bigint;
    v_n_events bigint := coalesce(array_length(p_kinds, 1), 0);
    v_job text;
BEGIN
    SELECT num, cursor INTO v_num, v_cursor FROM emend.sessions WHERE id = p_session_id FOR UPDATE;
    -- The row is locked: a first try of this change has ended.
    SELECT answer INTO v_answer FROM emend.changes WHERE id = p_change;
    IF FOUND THEN
        RETURN v_answer;
    END IF;
    IF v_num IS NULL THEN
        INSERT INTO emend.sessions (id, updated_at, status, title, cursor, floor, body)
            VALUES (p_session_id, p_updated_at, p_status, p_title, 0, 0, p_session_body)
            ON CONFLICT (id) DO UPDATE SET id = excluded.id
            RETURNING num, cursor INTO v_num, v_cursor;
        -- The first try may have created the session in the meantime.
        SELECT answer INTO v_answer FROM emend.changes WHERE id = p_change;
        IF FOUND THEN
            RETURN v_answer;
        END IF;
    END IF;
    UPDATE emend.sessions SET updated_at = p_updated_at, status = p_status, title = p_title,
        cursor = v_cursor + v_n_events, body = p_session_body WHERE num = v_num;
    IF p_text <> '' THEN
        INSERT INTO emend.texts (session, body) VALUES (v_num, p_text);
    END IF;
    FOR n IN 1 .. coalesce(array_length(p_jobs, 1), 0) LOOP
        INSERT INTO emend.jobs (id, session_id, is_open, n_events, last, floor, cursor, body)
            VALUES (p_jobs[n], p_job_sessions[n], p_job_open[n], 0, 0, 0, p_job_cursors[n], p_job_bodies[n])
            ON CONFLICT (id) DO UPDATE
                SET session_id = excluded.session_id, is_open = excluded.is_open, body = excluded.body;
    END LOOP;
    UPDATE emend.counters SET seq = seq + v_n_events RETURNING seq - v_n_events INTO v_seq;
    PERFORM emend.check_server(p_server);
    IF v_n_events > 0 THEN
        INSERT INTO emend.events (seq, session, cursor, job, job_id, kind, ts, data)
            SELECT v_seq + n, v_num, v_cursor + n, j.num, e.job_id, e.kind, p_at, e.data
            FROM unnest(p_kinds, p_event_jobs, p_data) WITH ORDINALITY AS e (kind, job_id, data, n)
            LEFT JOIN emend.jobs j ON j.id = e.job_id AND j.session_id = p_session_id;
        UPDATE emend.jobs SET n_events = jobs.n_events + added.n, last = added.last, cursor = added.last
            FROM (SELECT job, count(*) AS n, max(cursor) AS last FROM emend.events
                WHERE session = v_num AND cursor > v_cursor AND job IS NOT NULL GROUP BY job) AS added
            WHERE jobs.num = added.job;
    END IF;
    FOREACH v_job IN ARRAY p_purged LOOP
        PERFORM emend.drop_events(p_session_id, v_job, 0);
        DELETE FROM emend.jobs WHERE id = v_job AND session_id = p_session_id;
    END LOOP;
    IF p_keep > 0 THEN
        FOREACH v_job IN ARRAY p_event_jobs LOOP
            PERFORM emend.drop_events(p_session_id, v_job, p_keep);
        END LOOP;
    END IF;
    SELECT json_build_object('cursor', v_cursor, 'seq', v_seq, 'jobs',
        coalesce((SELECT json_object_agg(id, cursor) FROM emend.jobs WHERE id = ANY (p_jobs)), '{}'))
        INTO v_answer;
    INSERT INTO emend.changes (id, answer) VALUES (p_change, v_answer);
    DELETE FROM emend.changes WHERE id IN
        (SELECT id FROM emend.changes WHERE at < clock_timestamp() - interval '1 day' ORDER BY at
            FOR UPDATE SKIP LOCKED LIMIT 4);
    PERFORM pg_notify('emend_commits', left(p_session_id, 1000));
    RETURN v_answer;
END
$$;

-- Removes a session with its jobs and events; the answer tells whether it existed.
CREATE FUNCTION emend.remove_session(p_change uuid, p_server bigint, p_session_id text) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
    v_answer json;
    v_num bigint;
BEGIN
    SELECT num INTO v_num FROM emend.sessions WHERE id = p_session_id FOR UPDATE;
    SELECT answer INTO v_answer FROM emend.changes WHERE id = p_change;
    IF FOUND THEN
        RETURN v_answer;
    END IF;
    IF v_num IS NOT NULL THEN
        UPDATE emend.counters SET floor =
            greatest(floor, coalesce((SELECT max(seq) FROM emend.events WHERE session = v_num), 0));
        PERFORM emend.check_server(p_server);
        DELETE FROM emend.events WHERE session = v_num;
        DELETE FROM emend.texts WHERE session = v_num;
        DELETE FROM emend.jobs WHERE session_id = p_session_id;
        DELETE FROM emend.sessions WHERE num = v_num;
    END IF;
    v_answer := json_build_object('existed', v_num IS NOT NULL);
    INSERT INTO emend.changes (id, answer) VALUES (p_change, v_answer);
    PERFORM pg_notify('emend_commits', left(p_session_id, 1000));
    RETURN v_answer;
END
$$;

-- Makes the caller the present server: later changes of earlier servers are refused.
CREATE FUNCTION emend.take_over() RETURNS bigint
LANGUAGE sql AS $$ UPDATE emend.counters SET server = server + 1 RETURNING server $$;
