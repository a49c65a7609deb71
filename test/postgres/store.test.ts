import { describe, it } from 'vitest';
import { storeSuite } from '../../src/testkit/store-suite.ts';
import { openPostgresForTest } from './database.ts';

storeSuite('the PostgreSQL store', openPostgresForTest, { describe, it });
