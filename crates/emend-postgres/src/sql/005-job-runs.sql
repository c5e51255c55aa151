-- The workspace runs of each job, as its body names them. Version 5 of the schema `emend`; it is never changed.
CREATE TABLE emend.job_runs (
    job bigint NOT NULL REFERENCES emend.jobs (num) ON DELETE CASCADE,
    run bigint NOT NULL,
    PRIMARY KEY (job, run)
);
CREATE INDEX job_runs_by_run ON emend.job_runs (run);

-- Returns the runs of a job. The body is read as a text, because the JSON functions reject a NUL within a string. A
-- string cannot match: its quotes are escaped.
CREATE FUNCTION emend.runs_of(p_body json) RETURNS bigint[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT string_to_array((regexp_match(p_body::text, '"runs":\[([0-9,]+)\]'))[1], ',')::bigint[]
$$;

CREATE FUNCTION emend.note_runs() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM emend.job_runs WHERE job = NEW.num AND run <> ALL (coalesce(emend.runs_of(NEW.body), '{}'));
    INSERT INTO emend.job_runs (job, run) SELECT NEW.num, unnest(emend.runs_of(NEW.body)) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER job_runs_of_body AFTER INSERT OR UPDATE OF body ON emend.jobs
    FOR EACH ROW EXECUTE FUNCTION emend.note_runs();

INSERT INTO emend.job_runs (job, run) SELECT num, unnest(emend.runs_of(body)) FROM emend.jobs ON CONFLICT DO NOTHING;
