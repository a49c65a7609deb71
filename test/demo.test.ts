import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { judge } from '../src/main/demo.ts';

const BIN = fileURLToPath(new URL('../bin/claimcheck', import.meta.url));

describe('the demo', () => {
  test('prints its six lines from real transitions and exits 0, whatever settings are in the environment', async () => {
    const env = { ...process.env, CLAIMCHECK_LEASE_MS: '3600000', CLAIMCHECK_WORKFLOWS: '/nowhere.ts' };
    const demo = spawn(process.execPath, [BIN, 'demo'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    demo.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const [exitCode] = (await once(demo, 'close')) as [number];
    const lines = printed.trimEnd().split('\n');
    const unavailable = 'upstream_unavailable,upstream_unavailable,upstream_unavailable';
    expect(lines).toEqual([
      expect.stringMatching(/^PASS success status=completed attempts=1 artifact=artifacts\/\S+\.json$/),
      expect.stringMatching(
        /^PASS slow status=dead_letter attempts=2 errors=timeout,timeout elapsed_ms=\d+$/,
      ),
      'PASS malformed status=dead_letter attempts=1 error=malformed_output',
      'PASS restart recovered=1 status=completed events=queued,running,requeued_after_restart,running,completed',
      'PASS polling states=queued>running>completed',
      `PASS retry-exhaustion status=dead_letter attempts=3 errors=${unavailable}`,
    ]);
    expect(exitCode).toBe(0);
  });

  test.each([
    ['artifact=artifacts/<...>.json', 'artifact=artifacts/job_1/1/output.json', true],
    ['artifact=artifacts/<...>.json', 'artifact=none', false],
    ['artifact=artifacts/<...>.json', 'artifact=artifacts/job_1/1/outputXjson', false],
    ['attempts=2 elapsed_ms=<n>', 'attempts=2 elapsed_ms=157', true],
    ['attempts=2 elapsed_ms=<n>', 'attempts=2 elapsed_ms=NaN', false],
    ['status=completed', 'status=completed attempts=2', false],
  ])('holds %s against %s', (promised, came, passed) => {
    expect(judge('case', promised, came).passed).toBe(passed);
  });

  test('says what was promised and what came where a case fails', () => {
    expect(judge('slow', 'attempts=2', 'attempts=1').line).toBe(
      'FAIL slow expected: attempts=2; came: attempts=1',
    );
  });
});
