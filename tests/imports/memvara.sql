-- The tables of a database that memvara 0.21.0 wrote (schema 17), without its indexes.
CREATE TABLE episodes (
    id       TEXT PRIMARY KEY,
    tenant   TEXT NOT NULL,
    usr      TEXT,
    agent    TEXT,
    session  TEXT,
    role     TEXT NOT NULL,
    content  TEXT NOT NULL,
    ts       REAL NOT NULL,
    hash     TEXT NOT NULL,
    meta     TEXT NOT NULL DEFAULT '{}',
    project  TEXT
);
CREATE TABLE claims (
    id             TEXT PRIMARY KEY,
    tenant         TEXT NOT NULL,
    usr            TEXT,
    agent          TEXT,
    session        TEXT,
    subject        TEXT NOT NULL,
    predicate      TEXT NOT NULL,
    object         TEXT NOT NULL,
    text           TEXT NOT NULL,
    polarity       INTEGER NOT NULL DEFAULT 1,
    memory_type    TEXT NOT NULL,
    valid_from     REAL NOT NULL,
    valid_to       REAL,
    recorded_at    REAL NOT NULL,
    invalidated_at REAL,
    invalidated_by TEXT,
    confidence     REAL NOT NULL DEFAULT 1.0,
    salience       REAL NOT NULL DEFAULT 1.0,
    obs_count      INTEGER NOT NULL DEFAULT 1,
    sources        TEXT NOT NULL DEFAULT '[]',
    derivation     TEXT NOT NULL,
    extractor      TEXT NOT NULL DEFAULT '',
    meta           TEXT NOT NULL DEFAULT '{}',
    fact_key       TEXT NOT NULL,
    value_key      TEXT NOT NULL,
    subject_key    TEXT NOT NULL DEFAULT '',
    object_key     TEXT NOT NULL DEFAULT '',
    temporal_precision TEXT,
    amount             REAL,
    unit               TEXT,
    object_kind        TEXT,
    project            TEXT,
    subject_type       TEXT NOT NULL DEFAULT '',
    object_type        TEXT NOT NULL DEFAULT '',
    expires_at         REAL,
    expire_reason      TEXT
);
CREATE TABLE claim_links (
    tenant     TEXT NOT NULL,
    from_id    TEXT NOT NULL,
    to_id      TEXT NOT NULL,
    relation   TEXT NOT NULL CHECK (relation IN ('extends', 'derives')),
    created_at REAL NOT NULL,
    by         TEXT NOT NULL DEFAULT 'api',
    PRIMARY KEY (tenant, from_id, to_id, relation)
) WITHOUT ROWID
;
CREATE TABLE documents (
    tenant       TEXT NOT NULL,
    id           TEXT NOT NULL,
    custom_id    TEXT,
    scope_key    TEXT NOT NULL,
    usr          TEXT,
    agent        TEXT,
    session      TEXT,
    project      TEXT,
    title        TEXT,
    filepath     TEXT,
    source_uri   TEXT,
    mime         TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    status       TEXT NOT NULL
                 CHECK (status IN ('queued', 'extracting', 'done', 'stored', 'failed')),
    error        TEXT,
    meta         TEXT NOT NULL DEFAULT '{}',
    created_at   REAL NOT NULL,
    updated_at   REAL NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE TABLE document_chunks (
    tenant      TEXT NOT NULL,
    document_id TEXT NOT NULL,
    position    INTEGER NOT NULL,
    hash        TEXT NOT NULL,
    episode_id  TEXT NOT NULL,
    PRIMARY KEY (tenant, document_id, position)
) WITHOUT ROWID;
INSERT INTO episodes VALUES ('ep_f68406ff979742b2b32f', 'default', 'u', NULL, NULL, 'user', 'I live in Porto.', 1.79484806130552601814e+09, 'fe939c2f748e4fb8febb63019145e23a', '{}', NULL);
INSERT INTO episodes VALUES ('ep_acbaaa05ab5a43b89e4f', 'default', 'u', NULL, NULL, 'user', 'I moved to Lisbon.', 1.79484806131237888336e+09, '17604cbdc9746ecc65d3447810137dd7', '{}', NULL);
INSERT INTO episodes VALUES ('ep_620c5c69600445f498ca', 'default', 'u', NULL, NULL, 'assistant', 'Nice city.', 1.79484806131241607666e+09, 'c6ad7cb63747b74735246d693cfc7663', '{}', NULL);
INSERT INTO episodes VALUES ('ep_33e83fc0a1b8401e8f66', 'default', 'u', NULL, NULL, 'system', 'A long text about the harbour.

Second paragraph.', 1.79484806131823205948e+09, '66f17ff8e90b099d2f31fa63c9c2a31f', '{"document_id": "doc_0b9354b0467943b1a365"}', NULL);
INSERT INTO claims VALUES ('cl_3412255309c04761820e', 'default', 'u', NULL, NULL, 'user', 'lives_in', 'Porto', 'user lives in Porto', 1, 'semantic', 1.79484806130552601814e+09, 1.79484806131237888336e+09, 1.79484806130556106567e+09, NULL, 'cl_c231295e00c04a6ba8c0', 0.95, 1.0, 1, '["ep_f68406ff979742b2b32f"]', 'fast_path', 'fast/v1', '{"closure": [{"at": 1794848061.312379, "close": "ended", "by": "cl_c231295e00c04a6ba8c0"}]}', '58a8daaf942f54148e824074deadd19a', '18d70f54762de44d3bdbf6760b66f67c', 'user', 'porto', NULL, NULL, NULL, 'value', NULL, '', '', NULL, NULL);
INSERT INTO claims VALUES ('cl_c231295e00c04a6ba8c0', 'default', 'u', NULL, NULL, 'user', 'lives_in', 'Lisbon', 'user lives in Lisbon', 1, 'semantic', 1.79484806131237888336e+09, NULL, 1.79484806131242895126e+09, NULL, NULL, 0.95, 1.0, 1, '["ep_acbaaa05ab5a43b89e4f"]', 'fast_path', 'fast/v1', '{}', '58a8daaf942f54148e824074deadd19a', 'f7a833b5477e5dabe8a622871dcfb6e0', 'user', 'lisbon', NULL, NULL, NULL, 'value', NULL, '', '', NULL, NULL);
INSERT INTO claims VALUES ('cl_5aceda43f3d04b76a290', 'default', 'u', NULL, NULL, 'Ana', 'works_at', 'Bosch', 'Ana works at Bosch', 1, 'semantic', 1.79484806131609606743e+09, 1.79484806131704497337e+09, 1.79484806131609606743e+09, NULL, 'cl_f7fa9a0f64fa4d248c5d', 1.0, 1.0, 1, '[]', 'user', 'api', '{"closure": [{"at": 1794848061.317045, "close": "ended", "by": "cl_f7fa9a0f64fa4d248c5d"}]}', '8e35a440a99abf07201c0fd5d431168c', '0cc4104b3d7ad42874bca60a30ea3839', 'ana', 'bosch', NULL, NULL, NULL, 'value', NULL, '', '', 1.7974400613159430027e+09, NULL);
INSERT INTO claims VALUES ('cl_f7fa9a0f64fa4d248c5d', 'default', 'u', NULL, NULL, 'Ana', 'works_at', 'Siemens', 'Ana works at Siemens', 1, 'semantic', 1.79484806131704497337e+09, NULL, 1.79484806131704497337e+09, NULL, NULL, 1.0, 1.0, 1, '[]', 'user', 'api', '{}', '8e35a440a99abf07201c0fd5d431168c', 'f3a4ca907864b269d93a67efdf78454f', 'ana', 'siemens', NULL, NULL, NULL, 'value', NULL, '', '', NULL, NULL);
INSERT INTO documents VALUES ('default', 'doc_0b9354b0467943b1a365', NULL, 'default/u/*/*/*', 'u', NULL, NULL, NULL, 'Harbour', NULL, NULL, 'text/plain', '9d3366728db0c4e77c2ea0b3e7cf6ded', 'done', NULL, '{}', 1.79484806131822490692e+09, 1.79484806132007789612e+09);
INSERT INTO document_chunks VALUES ('default', 'doc_0b9354b0467943b1a365', 0, '9d3366728db0c4e77c2ea0b3e7cf6ded', 'ep_33e83fc0a1b8401e8f66');
