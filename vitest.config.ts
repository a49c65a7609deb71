import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** @param path below src */
const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));

export default defineConfig({
  // The examples import the package by its name, as users do.
  resolve: { alias: { 'claimcheck/testing': source('testing.ts'), claimcheck: source('index.ts') } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // The SQLite driver aborts the process when a worker thread that holds it is terminated.
    pool: 'forks',
    globalSetup: 'test/postgres/global-setup.ts',
    // As in a terminal where a client was set up: what test/environment.ts takes away, and the tests must not notice.
    env: { CLAIMCHECK_URL: 'http://127.0.0.1:9', CLAIMCHECK_API_KEY: 'of-another-server' },
    setupFiles: ['test/environment.ts'],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    restoreMocks: true,
  },
});
