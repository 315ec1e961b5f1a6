-- 0008: what a column may hold, as comparisons. For a list of three or more SQLite makes a table, fills it
-- and drops it again at each row that is written: a fifth of an event's insertion, a quarter of an item's.
-- The same values are allowed and no row is touched, so the statements are changed where they are kept, as
-- SQLite's documentation of ALTER TABLE has it for constraints. The table that comes and goes at the end
-- tells open connections to read the schema again.
PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET sql = replace(sql,
'CHECK (assurance IN (''asserted'', ''token'', ''signature'', ''signature+presence''))',
'CHECK (assurance = ''asserted'' OR assurance = ''token'' OR assurance = ''signature''
      OR assurance = ''signature+presence'')')
 WHERE type = 'table' AND name = 'events';

UPDATE sqlite_schema SET sql = replace(sql,
'status TEXT NOT NULL CHECK (status IN (''draft'', ''held'', ''ready'', ''leased'', ''in-review'',
    ''approved'', ''shipped'', ''verified'', ''triaged'', ''closed''))',
'status TEXT NOT NULL CHECK (status = ''leased'' OR status = ''in-review'' OR status = ''ready''
    OR status = ''held'' OR status = ''draft'' OR status = ''verified'' OR status = ''shipped''
    OR status = ''approved'' OR status = ''triaged'' OR status = ''closed'')')
 WHERE type = 'table' AND name = 'item_rows';

UPDATE sqlite_schema SET sql = replace(sql,
'kind TEXT NOT NULL CHECK (kind IN (''blocks'', ''parent-child'', ''conditional-blocks'', ''waits-for'',
    ''waits-for-child''))',
'kind TEXT NOT NULL CHECK (kind = ''blocks'' OR kind = ''parent-child''
    OR kind = ''conditional-blocks'' OR kind = ''waits-for'' OR kind = ''waits-for-child'')')
 WHERE type = 'table' AND name = 'edge_rows';

UPDATE sqlite_schema SET sql = replace(sql,
'state TEXT NOT NULL CHECK (state IN (''unmet'', ''met'', ''dead''))',
'state TEXT NOT NULL CHECK (state = ''unmet'' OR state = ''met'' OR state = ''dead'')')
 WHERE type = 'table' AND name = 'edge_rows';

UPDATE sqlite_schema SET sql = replace(sql,
'kind TEXT NOT NULL CHECK (kind NOT IN ('''', ''item'', ''alias'', ''triage'', ''lane''))',
'kind TEXT NOT NULL CHECK (kind <> '''' AND kind <> ''item'' AND kind <> ''alias''
    AND kind <> ''triage'' AND kind <> ''lane'')')
 WHERE type = 'table' AND name = 'fact_rows';

PRAGMA writable_schema = RESET;

CREATE TABLE passing (a INTEGER) STRICT;
DROP TABLE passing;
