-- Locks that end with their time, what other servers are to hear, and removed sessions. Version 6 of the schema `emend`; it
-- is never changed.

-- A lock of one server, by the clock of the database. A server that is paused or cut off does not renew it, and the next
-- one takes it over. `number` tells the locks of one server apart.
CREATE TABLE emend.locks (
    key text PRIMARY KEY,
    holder uuid NOT NULL,
    number bigint NOT NULL,
    until timestamptz NOT NULL
);

-- Takes a lock for some seconds unless another server has it; returns whether that worked. Repeating it is harmless.
--
-- The caller does not wait for the disk of the database: a lock that is lost in a crash is one that its holder cannot prove
-- any more.
CREATE FUNCTION emend.take_lock(p_key text, p_holder uuid, p_number bigint, p_seconds double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_until timestamptz := clock_timestamp() + make_interval(secs => p_seconds);
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO emend.locks AS l VALUES (p_key, p_holder, p_number, v_until)
        ON CONFLICT (key) DO UPDATE SET holder = p_holder, number = p_number, until = v_until
            WHERE l.until <= clock_timestamp() OR (l.holder = p_holder AND l.number <= p_number);
    RETURN FOUND;
END
$$;

-- Prolongs a lock that nobody has taken over; returns whether that worked.
CREATE FUNCTION emend.renew_lock(p_key text, p_holder uuid, p_number bigint, p_seconds double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE emend.locks SET until = clock_timestamp() + make_interval(secs => p_seconds)
        WHERE key = p_key AND holder = p_holder AND number = p_number;
    RETURN FOUND;
END
$$;

-- Gives a lock back.
CREATE FUNCTION emend.drop_lock(p_key text, p_holder uuid, p_number bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    DELETE FROM emend.locks WHERE key = p_key AND holder = p_holder AND number = p_number;
END
$$;

-- Refuses a change under a lock that another server has taken over, and keeps others from taking it until the transaction
-- ends. A change that a first try has stored is not refused. The answer is always true.
CREATE FUNCTION emend.check_lock(p_change uuid, p_key text, p_holder uuid, p_number bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF p_key IS NOT NULL THEN
        PERFORM FROM emend.locks WHERE key = p_key AND holder = p_holder AND number = p_number FOR SHARE;
        IF NOT FOUND AND NOT EXISTS (SELECT FROM emend.changes WHERE id = p_change) THEN
            RAISE EXCEPTION 'the lock % was taken over', p_key USING ERRCODE = 'EM003';
        END IF;
    END IF;
    RETURN true;
END
$$;

-- Counts of changes that no event tells.
CREATE TABLE emend.untold (
    id int PRIMARY KEY CHECK (id = 1),
    n_edits bigint NOT NULL,
    n_removed bigint NOT NULL
);
INSERT INTO emend.untold VALUES (1, 0, 0);

-- Tells all servers that the user changed files.
CREATE FUNCTION emend.tell_edit() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE emend.untold SET n_edits = n_edits + 1;
    PERFORM pg_notify('emend_untold', '');
END
$$;

-- The first and the last event of each removed session: a reader that has read some of them misses the others.
CREATE TABLE emend.removed (first bigint NOT NULL, last bigint NOT NULL);
CREATE INDEX removed_by_first ON emend.removed (first, last);

-- As before, but the number of the newest dropped event stays: readers that have not seen the session miss nothing. All
-- servers are told.
CREATE OR REPLACE FUNCTION emend.remove_session(p_change uuid, p_server bigint, p_session_id text) RETURNS json
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
        -- Readers and commits of all sessions are ordered by this row.
        PERFORM FROM emend.counters FOR UPDATE;
        PERFORM emend.check_server(p_server);
        INSERT INTO emend.removed SELECT min(seq), max(seq) FROM emend.events WHERE session = v_num
            HAVING count(*) > 0;
        DELETE FROM emend.removed WHERE last <= (SELECT floor FROM emend.counters);
        DELETE FROM emend.events WHERE session = v_num;
        DELETE FROM emend.texts WHERE session = v_num;
        DELETE FROM emend.jobs WHERE session_id = p_session_id;
        DELETE FROM emend.sessions WHERE num = v_num;
        UPDATE emend.untold SET n_removed = n_removed + 1;
        PERFORM pg_notify('emend_untold', '');
    END IF;
    v_answer := json_build_object('existed', v_num IS NOT NULL);
    INSERT INTO emend.changes (id, answer) VALUES (p_change, v_answer);
    PERFORM pg_notify('emend_commits', left(p_session_id, 1000));
    RETURN v_answer;
END
$$;
