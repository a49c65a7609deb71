import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { BIN, run, runHere, serve, start, tempDir } from './run.ts';
import type { Finished } from './run.ts';

const SAMPLE = fileURLToPath(new URL('../../src/examples/invoice/sample-invoice.pdf', import.meta.url));
const SUCCESS = '{"mode":"success"}';

describe('against a server', () => {
  test('a job is handed in, waited for, shown and written out', async () => {
    const cwd = tempDir();
    const { client } = await serve([], { cwd });
    const done = await runHere(['enqueue', 'demo', '--input', SUCCESS, '--wait', ...client]);
    expect(done.code).toBe(0);
    const [id = '', ...lines] = done.stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ +/)[1])).toEqual(['queued', 'running', 'completed']);
    const { stdout } = await runHere(['show', id, ...client]);
    for (const word of ['Requested', 'Now', 'Tried', 'Artifact', 'Decision', 'History']) {
      expect(stdout).toMatch(new RegExp(`^${word}`, 'm'));
    }
    const out = join(cwd, 'files');
    const written = await runHere(['show', id, '--out', out, ...client]);
    expect(written).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(out)).toEqual(
      expect.arrayContaining(['input.json', 'record.json', expect.stringMatching(/^artifact-.*\.json$/)]),
    );
    expect((await runHere(['show', id, '--out', out, ...client])).code).toBe(2);
    const onto = await runHere(['show', id, '--out', SAMPLE, ...client]);
    expect(onto.stderr).toBe(`Cannot write to ${SAMPLE}: there is a file of that name.\n`);
  });

  test('an artifact is written to stdout byte by byte, and as inert text on a terminal', async () => {
    const { client } = await serve([], { cwd: tempDir() });
    const value = 'ä\u009b2J\n';
    const input = JSON.stringify({ mode: 'echo', value });
    const [id = ''] = (await runHere(['enqueue', 'demo', '-i', input, '--wait', ...client])).stdout.split(
      '\n',
    );
    const { code, stdout } = await runHere(['show', id, '--artifact', ...client]);
    expect(code).toBe(0);
    expect(JSON.parse(Buffer.from(stdout, 'latin1').toString())).toMatchObject({ value });
    const shown = await runHere(['show', id, '--artifact', ...client], { columns: 80 });
    expect(shown.stdout).not.toContain('\u009b');
    expect(JSON.parse(shown.stdout)).toMatchObject({ value });
    const other = await runHere(['show', id, '--artifact', 'page.png', ...client]);
    expect(other).toMatchObject({ code: 1, stdout: '' });
    expect((await runHere(['show', id, '--artifact', '--json', ...client])).code).toBe(2);
  });

  test('the workflows are those of the server, and a version of one can be asked for', async () => {
    const { client } = await serve([], { cwd: tempDir() });
    const { stdout } = await runHere(['workflows', '--json', ...client]);
    const { workflows } = JSON.parse(stdout) as { workflows: { name: string; input_schema: object }[] };
    expect(workflows).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'invoice_summary', version: '1', input_file: 'required' }),
        expect.objectContaining({ name: 'demo', input_schema: expect.any(Object) }),
      ]),
    );
    const known = ['enqueue', 'demo', '-i', SUCCESS, '--workflow-version', '1', '--wait', ...client];
    expect((await runHere(known)).code).toBe(0);
    const unknown = await runHere(['enqueue', 'demo', '-i', SUCCESS, '--workflow-version', '7', ...client]);
    expect(unknown).toEqual({
      code: 2,
      stdout: '',
      stderr: 'unknown_workflow: No workflow demo version 7 is registered; its known versions are 1.\n',
    });
  });

  test('a watcher whose server goes away says so', async () => {
    const cwd = tempDir();
    const server = await serve(['--no-worker'], { cwd });
    const id = (await runHere(['enqueue', 'demo', '-i', SUCCESS, ...server.client])).stdout.trim();
    const watcher = start(['watch', id, ...server.client], { cwd });
    await watcher.printed(/queued/);
    server.process.kill('SIGKILL');
    await watcher.printed(/^Lost the server, trying again\.$/m, 'stderr');
    watcher.process.kill('SIGKILL');
  });

  test('a file is uploaded and summarised', async () => {
    const { client } = await serve([], { cwd: tempDir() });
    const args = ['enqueue', 'invoice_summary', '--file', SAMPLE, '--wait', '--json', ...client];
    const { code, stdout } = await runHere(args);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', error: null });
    expect(code).toBe(0);
  });

  test('a job that dies makes the exit code 1; it is replayed, and cannot be cancelled any more', async () => {
    const { client } = await serve([], { cwd: tempDir() });
    const dead = await runHere(['enqueue', 'demo', '-i', '{"mode":"malformed"}', '--wait', ...client]);
    expect(dead.code).toBe(1);
    const [id = ''] = dead.stdout.split('\n');
    expect(dead.stdout.trimEnd().split('\n').slice(-2)).toEqual([
      "The output does not match the workflow's schema.",
      'Read the raw output in the evidence: replay it, or give it up?',
    ]);
    const again = await runHere(['replay', id, '--reason', 'again', ...client]);
    expect(again.stdout).toBe(`${id} is queued again.\n`);
    const events = await runHere(['watch', id, '--json', ...client]);
    expect(events.code).toBe(1);
    const types = events.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(['queued', 'running', 'dead_letter', 'queued', 'running', 'dead_letter']);
    const late = await runHere(['cancel', id, '--reason', 'no', ...client]);
    expect(late).toMatchObject({ code: 1, stdout: '' });
    expect(late.stderr).toMatch(/^already_ended: /);
  });

  test('watching shows how far an attempt is', async () => {
    const { client } = await serve([], { cwd: tempDir() });
    const slow = '{"mode":"slow","ms":1500}';
    const { stdout } = await runHere(['enqueue', 'demo', '-i', slow, '--wait', ...client]);
    expect(stdout).toMatch(/^ +progress +\d+ %$/m);
  });

  test('a wrong key and an address where nobody answers have exit codes of their own', async () => {
    const { url } = await serve(['--no-worker'], { cwd: tempDir() });
    const wrong = await runHere(['list', '--url', url, '--api-key', 'wrong']);
    expect(wrong.code).toBe(2);
    const gone = await runHere(['list', '--url', 'http://127.0.0.1:9']);
    expect(gone.code).toBe(3);
    expect(gone.stderr).toMatch(/^Nobody answers at http:\/\/127\.0\.0\.1:9: /);
  });
});

describe('on the store itself, without a server', () => {
  function storeIn(cwd: string) {
    const flags = ['--data-dir', join(cwd, 'data')];
    return (args: readonly string[], options?: { stdin?: string }): Promise<Finished> =>
      runHere([...args, ...flags], options);
  }

  test('jobs are handed in, listed with filters, cancelled, and shown', async () => {
    const command = storeIn(tempDir());
    const first = ['enqueue', 'demo', '-i', SUCCESS, '--label', 'order=17', '--priority', '5'];
    const id = (await command(first)).stdout.trim();
    await command(['enqueue', 'demo', '-i', SUCCESS, '--label', 'order=18']);
    const listed = await command(['list', '--label', 'order=17', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject({ jobs: [{ job_id: id, status: 'queued' }], next: null });
    const page = await command(['list', '--limit', '1']);
    expect(page.stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(page.stderr).toMatch(/^There are more: --after job_/);
    expect((await command(['cancel', id, '-r', 'not needed'])).code).toBe(0);
    const record = JSON.parse((await command(['show', id, '--json'])).stdout) as { events: object[] };
    expect(record).toMatchObject({ status: 'dead_letter', priority: 5, labels: { order: '17' } });
    expect(record.events.at(-1)).toMatchObject({
      type: 'dead_letter',
      actor: expect.stringMatching(/^local:/),
    });
  });

  test('a job that no worker takes is explained once to who waits for it', async () => {
    const cwd = tempDir();
    const waiting = start(['enqueue', 'demo', '-i', SUCCESS, '--wait'], { cwd });
    await waiting.printed(/^It waits for a worker that knows demo version 1\.\n/, 'stderr');
    const [id = ''] = waiting.stdout().split('\n');
    await runHere(['cancel', id, '-r', 'not needed', '--data-dir', join(cwd, '.claimcheck')]);
    expect(await waiting.ended).toMatchObject({ code: 1 });
    expect(waiting.stderr()).toBe('It waits for a worker that knows demo version 1.\n');
    expect(waiting.stdout()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}Z {2}queued$/m);
    expect(waiting.stdout()).toMatch(/Z {2}dead_letter {13}cancelled by local:/);
  });

  test('a list fits a terminal of 80 columns, with whole ids', async () => {
    const cwd = tempDir();
    const command = storeIn(cwd);
    writeFileSync(
      join(cwd, 'w.ts'),
      `import { defineWorkflow } from 'claimcheck'; import { z } from 'zod';
       export default defineWorkflow({ name: 'a-workflow-of-a-long-name', version: '1', input: z.any(),
         output: z.any(), run: () => null });`,
    );
    const flags = ['--workflows', join(cwd, 'w.ts')];
    const id = (await command(['enqueue', 'a-workflow-of-a-long-name', ...flags])).stdout.trim();
    await command(['cancel', id, '-r', 'no']);
    const { stdout } = await runHere(['list', '--data-dir', join(cwd, 'data')], { columns: 80 });
    const [header, row = ''] = stdout.split('\n');
    expect(header).toMatch(/^ID +WORKFLOW +STATUS +AGO +ERROR$/);
    expect(row).toMatch(new RegExp(`^${id}  a-workflow-of-[a-z-]+… +dead_letter  \\d+s +cancelled$`));
    expect(row.length).toBeLessThanOrEqual(80);
    expect((await command(['list'])).stdout).toMatch(/ATTEMPT +UPDATED +ERROR\n.*a-workflow-of-a-long-name /);
    const wide = await runHere(['list', '--data-dir', join(cwd, 'data')], { columns: 200 });
    expect(wide.stdout).toContain('ATTEMPT');
  });

  test('the workflows are told without any store', async () => {
    const cwd = tempDir();
    const { code, stdout } = await storeIn(cwd)(['workflows']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^NAME +VERSION +FILE\n/);
    expect(stdout).toMatch(/^demo +1 +none$/m);
    expect(stdout).toMatch(/^invoice_summary +1 +required$/m);
    expect(readdirSync(cwd)).toEqual([]);
  });

  // The superuser may read everything.
  test.skipIf(process.getuid?.() === 0)(
    'a directory that this user may not read is no missing store',
    async () => {
      const cwd = tempDir();
      const command = storeIn(cwd);
      await command(['migrate']);
      chmodSync(join(cwd, 'data'), 0o000);
      const { code, stderr } = await command(['list']);
      chmodSync(join(cwd, 'data'), 0o700);
      expect(code).toBe(3);
      expect(stderr).toBe(
        `The data directory ${join(cwd, 'data')} cannot be used: this user may not read it.\n`,
      );
    },
  );

  test('input comes from a file or from stdin', async () => {
    const cwd = tempDir();
    const command = storeIn(cwd);
    writeFileSync(join(cwd, 'in.json'), SUCCESS);
    const fromFile = await command(['enqueue', 'demo', '-i', `@${join(cwd, 'in.json')}`, '--json']);
    expect(JSON.parse(fromFile.stdout)).toMatchObject({ status: 'queued' });
    const piped = await command(['enqueue', 'demo', '-i', '-', '--json'], { stdin: SUCCESS });
    expect(JSON.parse(piped.stdout)).toMatchObject({ status: 'queued' });
  });

  test('keys are made, listed and revoked', async () => {
    const command = storeIn(tempDir());
    const key = (await command(['keys', 'create', '--name', 'ci'])).stdout.trim();
    const listed = JSON.parse((await command(['keys', 'list', '--json'])).stdout) as object;
    expect(listed).toMatchObject({ keys: [{ name: 'ci', revoked_at: null }] });
    // The whole key does as its id, since that is what people have at hand.
    expect((await command(['keys', 'revoke', key])).code).toBe(0);
    expect((await command(['keys', 'revoke', key])).code).toBe(1);
    await command(['keys', 'create', 'laptop']);
    const both = JSON.parse((await command(['keys', 'list', '--json'])).stdout) as {
      keys: { name: string }[];
    };
    expect(both.keys.map(({ name }) => name)).toEqual(expect.arrayContaining(['ci', 'laptop']));
    await command(['keys', 'create', 'reader', '--scope', 'jobs', '--scope', 'evidence']);
    expect((await command(['keys', 'list'])).stdout).toMatch(/^\S+ +reader +jobs, evidence +\S+Z$/m);
    const unknown = await command(['keys', 'create', 'x', '--scope', 'all']);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('It takes one of jobs, evidence, spending, admin.');
    expect((await command(['keys', 'create', 'a', '--name', 'b'])).code).toBe(2);
  });

  test('a command that reads makes no store where there is none', async () => {
    const cwd = tempDir();
    const { code, stderr } = await storeIn(cwd)(['list']);
    expect(code).toBe(3);
    expect(stderr).toContain(`There is no store in ${join(cwd, 'data')}`);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('migrate says what it brought the store to', async () => {
    const { stdout } = await storeIn(tempDir())(['migrate', '--json']);
    expect(JSON.parse(stdout)).toEqual({
      description: expect.stringMatching(/^sqlite /),
      version: expect.any(Number),
    });
  });

  test('what a label or a reason holds cannot steer the terminal or turn its text', async () => {
    const command = storeIn(tempDir());
    const id = (await command(['enqueue', 'demo', '-i', SUCCESS, '-l', 'note=\u202egpj.exe'])).stdout.trim();
    expect((await command(['cancel', id, '-r', 'x\u009b2J\u001b[2J'])).code).toBe(0);
    for (const view of [['show', id], ['show', id, '--json'], ['watch', id], ['list'], ['list', '--json']]) {
      const { stdout } = await command(view);
      expect(stdout.replaceAll('\n', '')).toMatch(/^[\x20-\x7e\ufffd]+$/);
    }
    const record = JSON.parse((await command(['show', id, '--json'])).stdout) as object;
    expect(record).toMatchObject({ labels: { note: '\u202egpj.exe' } });
  });
});

describe('the command line', () => {
  test.each([
    [['serv'], /unknown command 'serv'\n\(Did you mean serve\?\)/],
    [['serve', '--prot', '1'], /unknown option '--prot'\n\(Did you mean --port\?\)/],
    [['show'], /missing required argument 'id'/],
    [['replay', 'job_1'], /required option '-r, --reason <text>' not specified/],
    [['list', '--status', 'done'], /Allowed choices are queued, running, completed, dead_letter/],
    [['enqueue', 'demo', '-i', '{x'], /The input is refused: /],
    [['enqueue', 'demo', '-i', '{"mode":"nope"}'], /^invalid_request: \/input\/mode: .*\n$/],
    [['list', '--limit', '0'], /It takes a whole number of at least 1\./],
    [
      ['list', '--url', 'localhost'],
      /^--url is "localhost"; it takes an http:\/\/ or https:\/\/ address without a user/m,
    ],
    [['list', '--url', 'http://user:sesame@127.0.0.1:9'], /^--url is wrong; [^@]*$/],
    [['list', '--url', 'http://127.0.0.1:9', '--api-key', 'ck_x\nck_y'], /^--api-key is wrong; (?!.*ck_)/],
  ])('%j is wrong usage, and the sentence says how', async (args, sentence) => {
    const isEnqueue = args[0] === 'enqueue';
    const place = isEnqueue ? ['--data-dir', join(tempDir(), 'data')] : [];
    const { code, stdout, stderr } = await runHere([...args, ...place]);
    expect(stderr).toMatch(sentence);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('help and version go to stdout and are no failure', async () => {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    const version = await run(['--version'], { cwd: tempDir() });
    expect(version).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
    const help = await runHere(['serve', '--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toMatch(/--lease-ms <ms>[\s\S]*\(default: 10000\)/);
  });

  test('every command is in docs/cli.md', async () => {
    const document = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
    const { stdout } = await runHere(['--help']);
    const listed = stdout.matchAll(/^ {2}([a-z]+)(?: \[options\])?(?: <\w+>)? {2,}/gm);
    const commands = [...listed].map(([, name]) => name);
    expect(commands).toEqual(expect.arrayContaining(['serve', 'work', 'enqueue', 'show', 'keys', 'cancel']));
    for (const name of commands) expect(document).toContain(`claimcheck ${name}`);
  });

  test('colours follow FORCE_COLOR and NO_COLOR where there is no terminal', async () => {
    const cwd = tempDir();
    await runHere(['enqueue', 'demo', '-i', SUCCESS, '--data-dir', join(cwd, '.claimcheck')]);
    const forced = await run(['list'], { cwd, env: { FORCE_COLOR: '1' } });
    expect(forced.stdout).toContain('\u001b[');
    const without = await run(['list'], { cwd, env: { NO_COLOR: '1' } });
    expect(without.stdout).toContain('queued');
    expect(without.stdout).not.toContain('\u001b[');
  });

  test('a reader that stops reading ends it quietly', async () => {
    const command = `"${process.execPath}" "${BIN}" serve --help | head -n 1`;
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { cwd: tempDir() });
    expect(stdout).toMatch(/^Usage: claimcheck serve/);
    expect(stderr).toBe('');
  });
});
