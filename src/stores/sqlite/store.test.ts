import { describe, it } from 'vitest';
import { storeSuite } from '../../testkit/store-suite.ts';
import { openSqliteForTest } from '../../testkit/store/sqlite.ts';

storeSuite('the SQLite store', openSqliteForTest, { describe, it });
