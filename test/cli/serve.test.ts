import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, test } from 'vitest';
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../../src/domain/policy.ts';
import { openSqliteStore } from '../../src/stores/sqlite/store.ts';
import { BIN, endOf, run, runHere, serve, start, tempDir } from './run.ts';
import type { Server } from './run.ts';

const BOOTSTRAP = 'bootstrap-key-of-a-test-0123456789-abcdef';

async function enqueue(server: Server, input: object, limits?: object): Promise<string> {
  const { json } = await server.ask('/ai-jobs', { workflow: 'demo', input, limits });
  return json['job_id'] as string;
}

function has(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
}

/** The lines that its banner gives to try. */
function triedLines(server: Server): string {
  return /^ {2}API=[\s\S]*?\/artifact .*$/m.exec(server.stdout())?.[0] ?? '';
}

describe('serve', () => {
  const shells = ['sh', 'bash', 'dash', 'zsh'].filter(has);

  // Without curl there is nothing to try them with.
  test.skipIf(!has('curl'))(
    'prints lines that any shell can run as they are, from request to artifact',
    async () => {
      const cwd = tempDir();
      const server = await serve(['--demo'], { cwd });
      const lines = triedLines(server);
      expect(lines.match(/curl/g)).toHaveLength(3);
      for (const shell of shells) {
        // GNU's sed, where it is one, then takes nothing but what every sed does.
        const env = { ...process.env, POSIXLY_CORRECT: '1' };
        const { stdout } = await promisify(execFile)(shell, ['-c', lines], { cwd, env });
        const [jobId, status = '', ...artifact] = stdout.split('\n');
        expect(JSON.parse(status)).toMatchObject({ job_id: jobId, status: 'completed' });
        expect(JSON.parse(artifact.join('\n'))).toMatchObject({ invoice_number: expect.any(String) });
      }
    },
  );

  test.skipIf(!has('curl'))(
    'its lines come to an end where the server refuses, and where it is gone',
    async () => {
      const server = await serve(['--demo'], { cwd: tempDir() });
      const lines = triedLines(server);
      const ended = async (script: string, shell: string) => {
        const { stdout } = await promisify(execFile)(shell, ['-c', `${script}; true`], { timeout: 20_000 });
        return stdout.trim();
      };
      const refused = lines.replace('invoice_summary', 'nope');
      for (const shell of shells) expect(await ended(refused, shell)).toBe('');
      server.process.kill('SIGKILL');
      await server.ended;
      for (const shell of shells) expect(await ended(lines, shell)).toBe('');
    },
  );

  test('leaves the input of a workflow that it does not know to the reader, in a line without a loop', async () => {
    const cwd = tempDir();
    const define = (name: string, more: string) =>
      `export const ${name} = defineWorkflow({ name: '${name}', version: '1', input: z.string(), output: z.any(),
         run: () => null, ${more} });`;
    const head = "import { defineWorkflow } from 'claimcheck'; import { z } from 'zod';";
    writeFileSync(join(cwd, 'demo.ts'), `${head} ${define('demo', '')}`);
    writeFileSync(join(cwd, 'file.ts'), `${head} ${define('scan', "inputFile: 'required'")}`);
    const own = (await serve(['--workflows', 'demo.ts'], { cwd })).stdout();
    expect(own).toContain('curl -sS $API/workflows -H "$AUTH"\n');
    expect(own).toMatch(/-d '\{"workflow":"demo","input":<your input>\}'\n/);
    expect(own).not.toMatch(/while|until/);
    const scan = (await serve(['--workflows', 'file.ts', '--data-dir', 'other'], { cwd })).stdout();
    expect(scan).toMatch(/-d '\{"workflow":"scan","input_ref":<what POST \/uploads answered>\}'\n/);
  });

  test('prints the first key once; a later start says how to make another, and the key still works', async () => {
    const cwd = tempDir();
    const first = await serve([], { cwd });
    expect(first.key).toMatch(/^ck_/);
    first.process.kill('SIGTERM');
    expect(await first.ended).toMatchObject({ code: 0 });
    const second = await serve([], { cwd });
    expect(second.stdout()).not.toContain(first.key);
    expect(second.stdout()).toContain(`\`${BIN} keys create\` makes another`);
    const headers = { authorization: `Bearer ${first.key}` };
    const response = await fetch(`${second.url}/ai-jobs`, { headers });
    expect(response.status).toBe(200);
  });

  test('takes a bootstrap key as given, prints it nowhere, and keeps it from the worker', async () => {
    const cwd = tempDir();
    writeFileSync(
      join(cwd, 'w.ts'),
      `import { defineWorkflow } from 'claimcheck'; import { z } from 'zod';
       export default defineWorkflow({ name: 'env', version: '1', input: z.any(), output: z.any(),
         run: () => Object.keys(process.env).filter((name) => name.startsWith('CLAIMCHECK_')) });`,
    );
    const env = { CLAIMCHECK_BOOTSTRAP_KEY: BOOTSTRAP, CLAIMCHECK_WORKFLOWS: 'w.ts' };
    const server = await serve([], { cwd, env });
    const { json } = await server.ask('/ai-jobs', { workflow: 'env' });
    await endOf(server, json['job_id'] as string);
    const artifact = await server.ask(`/ai-jobs/${String(json['job_id'])}/artifact`);
    expect(artifact.json).toEqual(['CLAIMCHECK_WORKFLOWS']);
    expect(server.stdout() + server.stderr()).not.toContain(BOOTSTRAP);
  });

  test('a job that ends its process costs an attempt; the API answers, and the jobs do not wait for the lease', async () => {
    const server = await serve(['--lease-ms', '600000'], { cwd: tempDir() });
    const id = await enqueue(server, { mode: 'exit' }, { max_attempts: 2 });
    expect(await endOf(server, id)).toMatchObject({
      errors: ['worker_lost', 'worker_lost'],
      events: ['queued', 'running', 'requeued_after_restart', 'running', 'dead_letter'],
    });
    expect(await endOf(server, await enqueue(server, { mode: 'success' }))).toMatchObject({
      status: 'completed',
    });
  });

  test('a job that ends its process does not take along again and again those that it ran beside', async () => {
    const server = await serve([], { cwd: tempDir() });
    const job = (input: object) => ({ workflow: 'demo', input });
    const slow = Array.from({ length: 10 }, () => job({ mode: 'slow', ms: 200 }));
    const jobs = [...slow, job({ mode: 'exit' }), ...slow];
    const { json } = await server.ask('/ai-jobs/batch', { jobs });
    const ends = [];
    for (const { job_id } of json['jobs'] as { job_id: string }[]) ends.push(await endOf(server, job_id));
    const states = ends.map((end) => end['status']);
    expect(states).toEqual(jobs.map(({ input }) => ('ms' in input ? 'completed' : 'dead_letter')));
  });

  test('a job finds no channel to the server in its process, and trying to use one is an error of its own', async () => {
    const cwd = tempDir();
    writeFileSync(
      join(cwd, 'w.ts'),
      `import { defineWorkflow } from 'claimcheck'; import { z } from 'zod';
       export default defineWorkflow({ name: 'send', version: '1', input: z.any(), output: z.any(),
         run: ({ input }) => {
           process.emit('message', null);
           process.emit('message', { type: 'start', start: {}, beatMs: 1, nonce: 'x' });
           process.emit('message', { type: 'wakeups', wakeups: null });
           if (input === 'send') process.send(null);
           return typeof process.send;
         } });`,
    );
    const server = await serve(['--workflows', 'w.ts'], { cwd });
    const send = async (input: string) => {
      const { json } = await server.ask('/ai-jobs', { workflow: 'send', input, limits: { max_attempts: 1 } });
      return json['job_id'] as string;
    };
    expect(await endOf(server, await send('send'))).toMatchObject({
      errors: ['workflow_error'],
      events: ['queued', 'running', 'dead_letter'],
    });
    const id = await send('look');
    expect(await endOf(server, id)).toMatchObject({ status: 'completed' });
    expect((await server.ask(`/ai-jobs/${id}/artifact`)).json).toBe('undefined');
  });

  test('once the culprit is dead, the worker runs jobs side by side again', async () => {
    const server = await serve([], { cwd: tempDir() });
    await endOf(server, await enqueue(server, { mode: 'exit' }));
    const slow = { mode: 'slow', ms: 20_000 };
    const ids = [await enqueue(server, slow), await enqueue(server, slow)];
    await expect
      .poll(async () => (await server.ask('/ai-jobs?status=running')).json['jobs'], { timeout: 10_000 })
      .toHaveLength(2);
    for (const id of ids) await server.ask(`/ai-jobs/${id}/cancel`, { reason: 'seen' });
  });

  test('a job that blocks its process for longer than the lease is ended with it', async () => {
    const server = await serve(['--lease-ms', '300'], { cwd: tempDir() });
    const spinning = await enqueue(server, { mode: 'spin', ms: 60_000 }, { max_attempts: 1 });
    expect(await endOf(server, spinning)).toMatchObject({ errors: ['worker_lost'] });
    expect(await endOf(server, await enqueue(server, { mode: 'success' }))).toMatchObject({
      status: 'completed',
    });
  });

  test('a worker whose every slot is stuck is replaced', async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'w.ts'), STUCK_WORKFLOW);
    const flags = ['--concurrency', '1', '--grace-ms', '50', '--workflows', 'w.ts', '--demo'];
    const server = await serve(flags, { cwd });
    const { json } = await server.ask('/ai-jobs', {
      workflow: 'deaf',
      limits: { timeout_ms: 50, max_attempts: 1 },
    });
    expect(await endOf(server, json['job_id'] as string)).toMatchObject({ errors: ['timeout'] });
    expect(await endOf(server, await enqueue(server, { mode: 'success' }))).toMatchObject({
      status: 'completed',
    });
    expect(server.stderr()).toContain('every slot was held by an attempt that ignored its signal');
  });

  test('stopping releases what is under way without spending an attempt', async () => {
    const cwd = tempDir();
    const server = await serve(['--shutdown-ms', '10'], { cwd });
    const id = await enqueue(server, { mode: 'slow', ms: 60_000 });
    await server.printed(/"event":"running"/, 'stderr');
    server.process.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0 });
    const { stdout } = await runHere(['show', id, '--brief', '--data-dir', join(cwd, '.claimcheck')]);
    expect(JSON.parse(stdout)).toEqual({
      id,
      status: 'queued',
      attempt: 1,
      errors: [],
      events: ['queued', 'running', 'queued'],
    });
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a second %s ends it at once, with its worker', async (signal, code) => {
    const server = await serve([], { cwd: tempDir() });
    await enqueue(server, { mode: 'slow', ms: 60_000 });
    await server.printed(/"event":"running"/, 'stderr');
    server.process.kill(signal);
    await server.printed(/Stopping/);
    server.process.kill(signal);
    expect(await server.ended).toEqual({ code, signal: null });
  });

  test('where the server is killed, its worker does not outlive it', async () => {
    const server = await serve([], { cwd: tempDir() });
    await enqueue(server, { mode: 'slow', ms: 60_000 });
    await server.printed(/"event":"running"/, 'stderr');
    server.process.kill('SIGKILL');
    // Its output closes only when the worker, which shares it, is gone as well.
    expect(await server.ended).toMatchObject({ signal: 'SIGKILL' });
  });

  test('no input, output or key is in the log', async () => {
    const server = await serve([], { cwd: tempDir() });
    const id = await enqueue(server, { mode: 'echo', value: 'sesame' });
    await endOf(server, id);
    await endOf(server, await enqueue(server, { mode: 'throw', message: 'open sesame' }));
    // the line of the last transition comes after its job is seen to have ended; the worker's own lines come in any case
    server.process.kill('SIGTERM');
    await server.ended;
    const log = server.stderr();
    expect(log).not.toContain('sesame');
    expect(log).not.toContain(server.key);
    for (const line of log.trimEnd().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
    const lines = log.split('\n').filter((line) => line.includes(id));
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
      'queued',
      'running',
      'completed',
    ]);
  });

  test('serve --no-worker leaves jobs to a worker that runs alone', async () => {
    const cwd = tempDir();
    const server = await serve(['--no-worker'], { cwd });
    const id = await enqueue(server, { mode: 'success' });
    const worker = start(['work'], { cwd });
    expect(await endOf(server, id)).toMatchObject({ status: 'completed' });
    worker.process.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0 });
  });
});

const STUCK_WORKFLOW = `import { defineWorkflow } from 'claimcheck'; import { z } from 'zod';
  export default defineWorkflow({ name: 'deaf', version: '1', input: z.any(), output: z.any(),
    run: () => new Promise(() => setInterval(() => {}, 1000)) });`;

test('work exits with 75 when every slot is stuck, to be started again', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'w.ts'), STUCK_WORKFLOW);
  const where = { cwd, env: { CLAIMCHECK_WORKFLOWS: 'w.ts' } };
  await run(['enqueue', 'deaf', '--timeout-ms', '50', '--max-attempts', '1'], where);
  const { code } = await run(['work', '--concurrency', '1', '--grace-ms', '50'], where);
  expect(code).toBe(75);
});

describe('a start that cannot be is told in one sentence, and exits', () => {
  async function refusal(args: readonly string[], cwd: string, env: Record<string, string> = {}) {
    const { code, stdout, stderr } = await run(['serve', '--port', '0', ...args], { cwd, env });
    expect(stdout).toBe('');
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    return { code, sentence: stderr.trimEnd() };
  }

  test('a taken port', async () => {
    const cwd = tempDir();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    expect(await refusal(['--port', port], cwd)).toEqual({
      code: 3,
      sentence: `Port ${port} on 127.0.0.1 is taken by another program; stop that program, or choose another with --port or CLAIMCHECK_PORT.`,
    });
    other.close();
    // No key was made and lost.
    const keys = await runHere(['keys', 'list', '--json', '--data-dir', join(cwd, '.claimcheck')]);
    expect(JSON.parse(keys.stdout)).toEqual({ keys: [] });
  });

  test('a data directory that is none', async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'file'), '');
    expect(await refusal(['--data-dir', 'file'], cwd)).toEqual({
      code: 3,
      sentence: `The data directory ${join(cwd, 'file')} cannot be used: there is a file of that name.`,
    });
  });

  test('a data directory of a newer version', async () => {
    const cwd = tempDir();
    await runHere(['migrate', '--data-dir', join(cwd, '.claimcheck')]);
    const db = new DatabaseSync(join(cwd, '.claimcheck', 'claimcheck.db'));
    db.exec('PRAGMA user_version = 9999');
    db.close();
    const { code, sentence } = await refusal([], cwd);
    expect(code).toBe(3);
    expect(sentence).toMatch(/was written by a newer version of Claimcheck/);
  });

  test('a data directory that a worker of another machine uses', async () => {
    const cwd = tempDir();
    const rules = { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS };
    const store = await openSqliteStore({ dataDir: join(cwd, '.claimcheck'), rules });
    const elsewhere = { session: 'ses_1', worker: 'box-1', host: 'elsewhere', leaseMs: 600_000 };
    await store.jobs.openSession(elsewhere);
    await store.close();
    const { code, sentence } = await refusal([], cwd);
    expect(code).toBe(3);
    expect(sentence).toMatch(
      /a worker on another machine .* SQLite serves the processes of one machine only/,
    );
  });

  test('an address beyond the machine without any key', async () => {
    const cwd = tempDir();
    expect(await refusal(['--host', '0.0.0.0'], cwd)).toEqual({
      code: 2,
      sentence: `To listen on 0.0.0.0, beyond this machine, set CLAIMCHECK_BOOTSTRAP_KEY or make a key first: ${BIN} keys create.`,
    });
    await runHere(['keys', 'create', '--data-dir', join(cwd, '.claimcheck')]);
    const server = await serve(['--host', '0.0.0.0'], { cwd });
    expect(server.url).toMatch(/^http:\/\/0\.0\.0\.0:/);
    expect(server.stdout()).toContain('API=http://127.0.0.1:');
  });

  test('a wrong setting, and a workflow module with a mistake', async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'w.ts'), 'const a = {;');
    expect(await refusal([], cwd, { CLAIMCHECK_LEASE_MS: 'long' })).toMatchObject({ code: 2 });
    expect(await refusal([], cwd, { CLAIMCHECK_WORKFLOWS: 'w.ts' })).toEqual({
      code: 2,
      sentence: 'w.ts:1:11: syntax error: Unexpected token.',
    });
  });
});
