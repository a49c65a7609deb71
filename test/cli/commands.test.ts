import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { run, serve, start, tempDir } from './run.ts';

const BIN = fileURLToPath(new URL('../../bin/claimcheck', import.meta.url));

describe('against a server', () => {
  test('a job is handed in, waited for, shown and written out', async () => {
    const cwd = tempDir();
    const { client } = await serve(['--demo'], { cwd });
    const where = { cwd, env: client };
    const done = await run(['enqueue', 'demo', '--input', '{"mode":"success"}', '--wait'], where);
    expect(done.code).toBe(0);
    const [id = '', ...lines] = done.stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ +/)[1])).toEqual(['queued', 'running', 'completed']);
    const { stdout } = await run(['show', id], where);
    for (const word of ['Requested', 'Now', 'Tried', 'Artifact', 'Decision', 'History']) {
      expect(stdout).toMatch(new RegExp(`^${word}`, 'm'));
    }
    expect(stdout).not.toContain('\u001b');
    const out = await run(['show', id, '--out', 'files'], where);
    expect(out.code).toBe(0);
    expect(readdirSync(join(cwd, 'files'))).toEqual(
      expect.arrayContaining(['input.json', 'record.json', expect.stringMatching(/^artifact-.*\.json$/)]),
    );
    expect((await run(['show', id, '--out', 'files'], where)).code).toBe(2);
  });

  test('a file is uploaded and summarised', async () => {
    const cwd = tempDir();
    const { client } = await serve(['--demo'], { cwd });
    const sample = fileURLToPath(new URL('../../src/examples/invoice/sample-invoice.pdf', import.meta.url));
    const args = ['enqueue', 'invoice_summary', '--file', sample, '--wait', '--json'];
    const { code, stdout } = await run(args, { cwd, env: client });
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', error: null });
    expect(code).toBe(0);
  });

  test('a job that dies makes the exit code 1, and is replayed and cancelled by name', async () => {
    const cwd = tempDir();
    const { client } = await serve([], { cwd });
    const where = { cwd, env: client };
    const dead = await run(['enqueue', 'demo', '-i', '{"mode":"malformed"}', '--wait'], where);
    expect(dead.code).toBe(1);
    const [id = ''] = dead.stdout.split('\n');
    expect((await run(['watch', id], where)).code).toBe(1);
    expect((await run(['replay', id, '--reason', 'again'], where)).stdout).toBe(`${id} is queued again.\n`);
    const events = await run(['watch', id, '--json'], where);
    const types = events.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(['queued', 'running', 'dead_letter', 'queued', 'running', 'dead_letter']);
    const late = await run(['cancel', id, '--reason', 'no'], where);
    expect(late).toMatchObject({ code: 1, stdout: '' });
    expect(late.stderr).toMatch(/^already_ended: /);
  });

  test('a wrong key and an address where nobody answers have exit codes of their own', async () => {
    const cwd = tempDir();
    const { client } = await serve(['--no-worker'], { cwd });
    const wrong = await run(['list'], { cwd, env: { ...client, CLAIMCHECK_API_KEY: 'wrong' } });
    expect(wrong.code).toBe(2);
    const gone = await run(['list', '--url', 'http://127.0.0.1:9'], { cwd });
    expect(gone.code).toBe(3);
    expect(gone.stderr).toMatch(/^Nobody answers at http:\/\/127\.0\.0\.1:9: /);
  });
});

describe('on the store itself, without a server', () => {
  test('jobs are handed in, listed with filters, cancelled, and shown', async () => {
    const cwd = tempDir();
    const enqueue = (...args: string[]) =>
      run(['enqueue', 'demo', '-i', '{"mode":"success"}', ...args], { cwd });
    const { stdout: first } = await enqueue('--label', 'order=17', '--priority', '5');
    const id = first.trim();
    await enqueue('--label', 'order=18');
    const listed = await run(['list', '--label', 'order=17', '--json'], { cwd });
    expect(JSON.parse(listed.stdout)).toMatchObject({ jobs: [{ job_id: id, status: 'queued' }], next: null });
    const page = await run(['list', '--limit', '1'], { cwd });
    expect(page.stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(page.stderr).toMatch(/^There are more: --after job_/);
    expect((await run(['cancel', id, '-r', 'not needed'], { cwd })).code).toBe(0);
    const record = JSON.parse((await run(['show', id, '--json'], { cwd })).stdout) as Record<string, unknown>;
    expect(record).toMatchObject({ status: 'dead_letter', priority: 5, labels: { order: '17' } });
    expect(record['events']).toMatchObject([
      {},
      { type: 'dead_letter', actor: expect.stringMatching(/^local:/) },
    ]);
  });

  test('input comes from a file or from stdin', async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'in.json'), '{"mode":"success"}');
    const fromFile = await run(['enqueue', 'demo', '-i', '@in.json', '--json'], { cwd });
    expect(JSON.parse(fromFile.stdout)).toMatchObject({ status: 'queued' });
    const piped = start(['enqueue', 'demo', '-i', '-', '--json'], { cwd });
    piped.process.stdin?.end('{"mode":"success"}');
    await piped.ended;
    expect(JSON.parse(piped.stdout())).toMatchObject({ status: 'queued' });
  });

  test('keys are made, listed and revoked', async () => {
    const cwd = tempDir();
    const key = (await run(['keys', 'create', '--name', 'ci'], { cwd })).stdout.trim();
    const listed = JSON.parse((await run(['keys', 'list', '--json'], { cwd })).stdout) as {
      keys: { id: string }[];
    };
    expect(listed.keys).toMatchObject([{ name: 'ci', revoked_at: null }]);
    // The whole key does as its id, since that is what people have at hand.
    expect((await run(['keys', 'revoke', key], { cwd })).code).toBe(0);
    expect((await run(['keys', 'revoke', key], { cwd })).code).toBe(1);
  });

  test('a command that reads makes no store where there is none', async () => {
    const cwd = tempDir();
    const { code, stderr } = await run(['list'], { cwd });
    expect(code).toBe(3);
    expect(stderr).toContain(`There is no store in ${join(cwd, '.claimcheck')}`);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('migrate says what it brought the store to', async () => {
    const cwd = tempDir();
    const { stdout } = await run(['migrate', '--json'], { cwd });
    expect(JSON.parse(stdout)).toEqual({
      description: expect.stringMatching(/^sqlite /),
      version: expect.any(Number),
    });
  });

  test('what a label or a reason holds cannot steer the terminal', async () => {
    const cwd = tempDir();
    const args = ['enqueue', 'demo', '-i', '{"mode":"success"}', '-l', 'note=\u001b[2J\u009b1m'];
    const id = (await run(args, { cwd })).stdout.trim();
    await run(['cancel', id, '-r', '\u001b]0;owned\u0007'], { cwd });
    for (const view of [['show', id], ['show', id, '--json'], ['watch', id], ['list'], ['list', '--json']]) {
      const { stdout } = await run(view, { cwd });
      expect(stdout.replaceAll('\n', '')).toMatch(/^[\x20-\x7e]*$/);
    }
    const record = JSON.parse((await run(['show', id, '--json'], { cwd })).stdout) as object;
    expect(record).toMatchObject({ labels: { note: '\u001b[2J\u009b1m' } });
  });
});

describe('the command line', () => {
  test.each([
    [['serv'], /unknown command 'serv'\n\(Did you mean serve\?\)/],
    [['serve', '--prot', '1'], /unknown option '--prot'\n\(Did you mean --port\?\)/],
    [['show'], /missing required argument 'id'/],
    [['replay', 'job_1'], /required option '-r, --reason <text>' not specified/],
    [['list', '--status', 'done'], /Allowed choices are queued, running, completed, dead_letter/],
    [['enqueue', 'demo', '-i', '{x'], /The input is no JSON/],
    [['enqueue', 'demo', '-i', '{"mode":"nope"}'], /^invalid_request: .*\n {2}\/input\/mode /],
    [['list', '--limit', '0'], /It takes a whole number of at least 1\./],
  ])('%j is wrong usage, and the sentence says how', async (args, sentence) => {
    const { code, stdout, stderr } = await run(args, { cwd: tempDir() });
    expect(stderr).toMatch(sentence);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('help and version go to stdout and are no failure', async () => {
    const cwd = tempDir();
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(await run(['--version'], { cwd })).toEqual({
      code: 0,
      stdout: `${manifest.version}\n`,
      stderr: '',
    });
    const help = await run(['serve', '--help'], { cwd });
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toMatch(/--lease-ms <ms>[\s\S]*\(default: 10000\)/);
  });

  test('every command is in docs/cli.md', async () => {
    const document = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
    const { stdout } = await run(['--help'], { cwd: tempDir() });
    const commands = [...stdout.matchAll(/^ {2}([a-z]+)(?: \[options\])?(?: <\w+>)? {2,}/gm)].map(
      ([, name]) => name,
    );
    expect(commands).toEqual(expect.arrayContaining(['serve', 'work', 'enqueue', 'show', 'keys', 'cancel']));
    for (const name of commands) expect(document).toContain(`claimcheck ${name}`);
  });

  test('colours follow FORCE_COLOR and NO_COLOR where there is no terminal', async () => {
    const cwd = tempDir();
    await run(['enqueue', 'demo', '-i', '{"mode":"success"}'], { cwd });
    const forced = await run(['list'], { cwd, env: { FORCE_COLOR: '1' } });
    expect(forced.stdout).toContain('\u001b[');
    const without = await run(['list'], { cwd, env: { NO_COLOR: '1' } });
    expect(without.stdout).not.toContain('\u001b[');
  });

  test('a reader that stops reading ends it quietly', async () => {
    const cwd = tempDir();
    mkdirSync(join(cwd, 'x'));
    const command = `"${process.execPath}" "${BIN}" serve --help | head -n 1`;
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { cwd });
    expect(stdout).toMatch(/^Usage: claimcheck serve/);
    expect(stderr).toBe('');
  });
});
