-- Canvases: draft, committed artefact, lease and epoch. Version 2 of the schema `emend`; it is never changed.
--
-- The rules of the lease are those of `emend_agent::canvas::Lease`. Each function locks the row of the canvas first and
-- then reads the clock of the database, so the clocks of servers have no part in it. `p_now` is for tests, and null
-- means the clock. Every answer is a JSON object with `code` (`ok` or a stable error code) and `revision_id`.

CREATE TABLE emend.canvases (
    id text COLLATE "C" PRIMARY KEY,
    draft text NOT NULL,
    -- SHA-256 of the draft: the revision of the canvas.
    draft_hash text NOT NULL,
    -- Of the artefact that was promoted last; null before the first.
    artefact_hash text,
    -- Grows when the user preempts. A lease of an older epoch is void.
    epoch bigint NOT NULL DEFAULT 0,
    last_lease_id bigint NOT NULL DEFAULT 0,
    -- The lease in force or expired; null after a release.
    lease_id bigint,
    expires_at bigint NOT NULL DEFAULT 0,
    -- Start of the oldest call in flight, and their number.
    guard_began_at bigint,
    n_guards int NOT NULL DEFAULT 0
);

-- Nodes of a conversation by ref, each after the one before. A node with an artefact has promoted a draft.
CREATE TABLE emend.nodes (
    num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ref text COLLATE "C" NOT NULL,
    parent bigint REFERENCES emend.nodes,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    body json NOT NULL,
    canvas text COLLATE "C",
    artefact text,
    artefact_hash text
);
CREATE INDEX nodes_by_ref ON emend.nodes (ref, num);
CREATE TABLE emend.refs (
    ref text COLLATE "C" PRIMARY KEY,
    head bigint REFERENCES emend.nodes
);

CREATE FUNCTION emend.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE FUNCTION emend.content_hash(p_content text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT encode(sha256(convert_to(p_content, 'UTF8')), 'hex') $$;

-- Returns when the lease ends without activity; null if it is not held. A call in flight keeps it for 120 s at most.
CREATE FUNCTION emend.held_until(c emend.canvases, p_now bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN until > p_now THEN until END
    FROM (SELECT greatest(c.expires_at, c.guard_began_at + 120000) AS until WHERE c.lease_id IS NOT NULL) AS held
$$;

-- Returns `ok`, or why a ticket is not valid.
CREATE FUNCTION emend.verify_lease(c emend.canvases, p_lease bigint, p_epoch bigint, p_now bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_epoch IS DISTINCT FROM c.epoch THEN 'STALE_EPOCH'
        WHEN c.lease_id IS NULL OR p_lease IS DISTINCT FROM c.lease_id THEN 'LOCK_NOT_OWNED'
        WHEN emend.held_until(c, p_now) IS NULL THEN 'LEASE_EXPIRED'
        ELSE 'ok'
    END
$$;

-- Returns an answer about the state of a canvas.
CREATE FUNCTION emend.canvas_answer(p_code text, c emend.canvases, p_now bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('code', p_code, 'revision_id', c.draft_hash, 'epoch', c.epoch,
        'lease_id', c.lease_id, 'expires_at', emend.held_until(c, p_now), 'now', p_now)
$$;

-- Locks a canvas. The caller reads the clock after that.
CREATE FUNCTION emend.lock_canvas(p_canvas text) RETURNS emend.canvases
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
BEGIN
    SELECT * INTO c FROM emend.canvases WHERE id = p_canvas FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no canvas %', p_canvas USING ERRCODE = 'EM404';
    END IF;
    RETURN c;
END
$$;

CREATE FUNCTION emend.store_lease(c emend.canvases) RETURNS void
LANGUAGE sql AS $$
    UPDATE emend.canvases SET epoch = c.epoch, last_lease_id = c.last_lease_id, lease_id = c.lease_id,
        expires_at = c.expires_at, guard_began_at = c.guard_began_at, n_guards = c.n_guards WHERE id = c.id
$$;

-- Creates a canvas with a text; one that exists is unchanged.
CREATE FUNCTION emend.open_canvas(p_canvas text, p_content text) RETURNS jsonb
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO emend.canvases (id, draft, draft_hash) VALUES (p_canvas, p_content, emend.content_hash(p_content))
        ON CONFLICT (id) DO NOTHING;
    RETURN emend.rt_get_canvas_v1(p_canvas);
END
$$;

-- Gives the lease to a caller that knows the epoch.
CREATE FUNCTION emend.check_out(p_canvas text, p_epoch bigint, p_ttl bigint DEFAULT 15000, p_now bigint DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
    v_now bigint;
BEGIN
    c := emend.lock_canvas(p_canvas);
    v_now := coalesce(p_now, emend.now_ms());
    IF p_epoch <> c.epoch THEN
        RETURN emend.canvas_answer('STALE_EPOCH', c, v_now);
    END IF;
    IF emend.held_until(c, v_now) IS NOT NULL THEN
        -- The holder's number is not for others.
        RETURN emend.canvas_answer('LOCK_NOT_AVAILABLE', c, v_now) - 'lease_id';
    END IF;
    c.last_lease_id := c.last_lease_id + 1;
    c.lease_id := c.last_lease_id;
    c.expires_at := v_now + p_ttl;
    c.guard_began_at := NULL;
    c.n_guards := 0;
    PERFORM emend.store_lease(c);
    RETURN emend.canvas_answer('ok', c, v_now);
END
$$;

-- Renews the lease. An expired lease stays expired.
CREATE FUNCTION emend.renew(
    p_canvas text, p_lease bigint, p_epoch bigint, p_ttl bigint DEFAULT 15000, p_now bigint DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
    v_now bigint;
    v_code text;
BEGIN
    c := emend.lock_canvas(p_canvas);
    v_now := coalesce(p_now, emend.now_ms());
    v_code := emend.verify_lease(c, p_lease, p_epoch, v_now);
    IF v_code = 'ok' THEN
        c.expires_at := greatest(c.expires_at, v_now + p_ttl);
        PERFORM emend.store_lease(c);
    END IF;
    RETURN emend.canvas_answer(v_code, c, v_now);
END
$$;

-- Releases the lease. `released` tells whether the ticket still held it; a second release has no effect.
CREATE FUNCTION emend.check_in(p_canvas text, p_lease bigint, p_epoch bigint, p_now bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
    v_now bigint;
    v_owned boolean;
BEGIN
    c := emend.lock_canvas(p_canvas);
    v_now := coalesce(p_now, emend.now_ms());
    v_owned := p_epoch = c.epoch AND c.lease_id IS NOT NULL AND c.lease_id = p_lease;
    IF v_owned THEN
        c.lease_id := NULL;
        c.expires_at := 0;
        c.guard_began_at := NULL;
        c.n_guards := 0;
        PERFORM emend.store_lease(c);
    END IF;
    RETURN emend.canvas_answer('ok', c, v_now) || jsonb_build_object('released', v_owned);
END
$$;

-- Keeps the lease while a call of the model or a tool is in flight.
CREATE FUNCTION emend.begin_guard(p_canvas text, p_lease bigint, p_epoch bigint, p_now bigint DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
    v_now bigint;
    v_code text;
BEGIN
    c := emend.lock_canvas(p_canvas);
    v_now := coalesce(p_now, emend.now_ms());
    v_code := emend.verify_lease(c, p_lease, p_epoch, v_now);
    IF v_code = 'ok' THEN
        c.guard_began_at := coalesce(c.guard_began_at, v_now);
        c.n_guards := c.n_guards + 1;
        PERFORM emend.store_lease(c);
    END IF;
    RETURN emend.canvas_answer(v_code, c, v_now);
END
$$;

-- Ends a guard. The end counts as activity if the lease is still alive.
CREATE FUNCTION emend.end_guard(
    p_canvas text, p_lease bigint, p_epoch bigint, p_ttl bigint DEFAULT 15000, p_now bigint DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
    v_now bigint;
    v_code text;
BEGIN
    c := emend.lock_canvas(p_canvas);
    v_now := coalesce(p_now, emend.now_ms());
    v_code := emend.verify_lease(c, p_lease, p_epoch, v_now);
    IF c.lease_id IS NOT NULL AND c.lease_id = p_lease THEN
        c.n_guards := greatest(c.n_guards - 1, 0);
        IF c.n_guards = 0 THEN
            c.guard_began_at := NULL;
        END IF;
        IF v_code = 'ok' THEN
            c.expires_at := greatest(c.expires_at, v_now + p_ttl);
        END IF;
        PERFORM emend.store_lease(c);
    END IF;
    RETURN emend.canvas_answer(v_code, c, v_now);
END
$$;

-- Takes the canvas back for the user: on a keystroke, Esc, a message or a cancelled run.
CREATE FUNCTION emend.preempt(p_canvas text, p_now bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
    v_now bigint;
BEGIN
    c := emend.lock_canvas(p_canvas);
    v_now := coalesce(p_now, emend.now_ms());
    c.epoch := c.epoch + 1;
    c.lease_id := NULL;
    c.expires_at := 0;
    c.guard_began_at := NULL;
    c.n_guards := 0;
    PERFORM emend.store_lease(c);
    RETURN emend.canvas_answer('ok', c, v_now);
END
$$;

-- Returns the canvas with its draft.
CREATE FUNCTION emend.rt_get_canvas_v1(p_canvas text) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('code', 'ok', 'canvas_id', id, 'content', draft, 'revision_id', draft_hash,
        'draft_hash', draft_hash, 'artefact_hash', artefact_hash, 'epoch', epoch,
        'expires_at', emend.held_until(c, emend.now_ms()))
    FROM emend.canvases c WHERE id = p_canvas
$$;

-- Returns the hashes only: the draft and the artefact differ if there is something to promote.
CREATE FUNCTION emend.rt_canvas_hashes_v1(p_canvas text) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('code', 'ok', 'draft_hash', draft_hash, 'artefact_hash', artefact_hash)
    FROM emend.canvases WHERE id = p_canvas
$$;

-- Saves the draft of the agent that holds the lease, made for the present revision. Nothing changes otherwise.
CREATE FUNCTION emend.rt_save_artefact_draft(
    p_canvas text, p_lease bigint, p_epoch bigint, p_base_revision text, p_content text, p_now bigint DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
    v_now bigint;
    v_code text;
BEGIN
    c := emend.lock_canvas(p_canvas);
    v_now := coalesce(p_now, emend.now_ms());
    v_code := emend.verify_lease(c, p_lease, p_epoch, v_now);
    IF v_code = 'ok' AND p_base_revision IS DISTINCT FROM c.draft_hash THEN
        v_code := 'PATCH_REJECTED';
    END IF;
    IF v_code = 'ok' THEN
        c.draft_hash := emend.content_hash(p_content);
        UPDATE emend.canvases SET draft = p_content, draft_hash = c.draft_hash WHERE id = p_canvas;
    END IF;
    RETURN emend.canvas_answer(v_code, c, v_now);
END
$$;

-- Saves the user's text. The user needs no lease, and always preempts.
CREATE FUNCTION emend.save_user_draft(p_canvas text, p_content text, p_now bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    v_answer jsonb := emend.preempt(p_canvas, p_now);
    v_hash text := emend.content_hash(p_content);
BEGIN
    UPDATE emend.canvases SET draft = p_content, draft_hash = v_hash WHERE id = p_canvas;
    RETURN v_answer || jsonb_build_object('revision_id', v_hash);
END
$$;

-- Appends a node to a ref. With `p_attach_draft`, a draft that differs from the artefact becomes the artefact of the
-- node; not while an agent holds the lease.
CREATE FUNCTION emend.rt_append_node_to_ref_v1(
    p_ref text, p_body json, p_canvas text DEFAULT NULL, p_attach_draft boolean DEFAULT false,
    p_now bigint DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases;
    v_now bigint;
    v_head bigint;
    v_node bigint;
    v_promotes boolean := false;
BEGIN
    IF p_attach_draft THEN
        c := emend.lock_canvas(p_canvas);
        v_now := coalesce(p_now, emend.now_ms());
        IF emend.held_until(c, v_now) IS NOT NULL THEN
            RETURN emend.canvas_answer('LOCK_NOT_AVAILABLE', c, v_now) - 'lease_id';
        END IF;
        v_promotes := c.draft_hash IS DISTINCT FROM c.artefact_hash;
    END IF;
    INSERT INTO emend.refs (ref, head) VALUES (p_ref, NULL)
        ON CONFLICT (ref) DO UPDATE SET ref = excluded.ref RETURNING head INTO v_head;
    INSERT INTO emend.nodes (ref, parent, body, canvas, artefact, artefact_hash)
        VALUES (p_ref, v_head, p_body, p_canvas, CASE WHEN v_promotes THEN c.draft END,
            CASE WHEN v_promotes THEN c.draft_hash END)
        RETURNING num INTO v_node;
    UPDATE emend.refs SET head = v_node WHERE ref = p_ref;
    IF v_promotes THEN
        UPDATE emend.canvases SET artefact_hash = c.draft_hash WHERE id = p_canvas;
    END IF;
    RETURN jsonb_build_object('code', 'ok', 'node', v_node, 'parent', v_head, 'promoted', v_promotes,
        'revision_id', c.draft_hash, 'draft_hash', c.draft_hash,
        'artefact_hash', CASE WHEN v_promotes THEN c.draft_hash ELSE c.artefact_hash END);
END
$$;
