//! The columns of the three tables. `docs/queries.md` states what each means; a new one goes to the end of its table.

/// The tables: their names, and their schemas as Parquet writes them.
pub const TABLES: [(&str, &str); 3] = [("exchanges", EXCHANGES), ("findings", FINDINGS), ("tokens", TOKENS)];

const EXCHANGES: &str = "message exchanges {
    optional binary trail (STRING);
    required binary source (STRING);
    required int64 entry;
    optional int64 line;
    optional int64 started (TIMESTAMP(MICROS,true));
    optional int64 duration_us;
    optional int64 wait_us;
    required binary method (STRING);
    required binary origin (STRING);
    required binary path (STRING);
    optional binary query (STRING);
    optional binary operation (STRING);
    optional int32 status;
    required binary verdict (STRING);
    optional binary blame (STRING);
    required binary caller (STRING);
    optional binary client (STRING);
    required binary credential (STRING);
    optional binary token (STRING);
    optional binary token_time (STRING);
    optional binary signature (STRING);
    optional group required_scopes (LIST) { repeated group list { required binary element (STRING); } }
    optional int64 request_bytes;
    optional int64 response_bytes;
    optional binary answered (STRING);
}";

const FINDINGS: &str = "message findings {
    optional binary trail (STRING);
    required binary source (STRING);
    required int64 entry;
    optional int64 started (TIMESTAMP(MICROS,true));
    optional binary operation (STRING);
    required binary caller (STRING);
    required binary kind (STRING);
    optional binary rule (STRING);
    optional binary aspect (STRING);
    optional binary place (STRING);
    optional binary message (STRING);
}";

const TOKENS: &str = "message tokens {
    required binary token (STRING);
    optional binary client (STRING);
    optional group scopes (LIST) { repeated group list { required binary element (STRING); } }
    optional binary issuer (STRING);
    required group audience (LIST) { repeated group list { required binary element (STRING); } }
    optional int64 issued_at (TIMESTAMP(MICROS,true));
    optional int64 not_before (TIMESTAMP(MICROS,true));
    optional int64 expires_at (TIMESTAMP(MICROS,true));
    optional int64 lifetime_s;
    optional binary trail (STRING);
    required binary source (STRING);
    required int64 entry;
}";
