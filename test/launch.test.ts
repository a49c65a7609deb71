/**
 * The launcher, in small clones of its own: real scripts, a real compiler, a small src, and an npm
 * that lays out the packages this clone has.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nodeVersionProblem } from '../bin/node-version.js';
import { isBuilt, writeBuildStamp } from '../scripts/launcher/build-stamp.mjs';
import { installStamp, installState } from '../scripts/launcher/install.mjs';
import { withLock } from '../scripts/launcher/lock.mjs';

const ROOT = resolve(import.meta.dirname, '..');

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'claimcheck-launch-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(file: string, content: string): void {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function read(file: string): string {
  return readFileSync(join(folder, file), 'utf8');
}

describe('the version of Node', () => {
  test.each(['14.21.3', '18.20.8', '20.18.3'])('%s is too old, and the sentence says so', (version) => {
    expect(nodeVersionProblem(version)).toBe(
      `Claimcheck needs Node 20.19 or newer; this is Node ${version}.`,
    );
  });

  test.each(['20.19.0', '20.20.2', '22.0.0', '24.1.0'])('%s is new enough', (version) => {
    expect(nodeVersionProblem(version)).toBeUndefined();
  });
});

describe('whether to install', () => {
  const runtime = { abi: '115', platform: 'linux', arch: 'x64' };
  const packages = {
    '': { version: '1.0.0' },
    'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
    'node_modules/a-linux': { version: '1.0.0', optional: true, os: ['linux'], cpu: ['x64'] },
    'node_modules/a-mac': { version: '1.0.0', optional: true, os: ['darwin'], cpu: ['arm64'] },
  };
  const lockfile = JSON.stringify({ packages });
  const laidOut = {
    'node_modules/a': packages['node_modules/a'],
    'node_modules/a-linux': packages['node_modules/a-linux'],
  };
  const tree = JSON.stringify({ packages: laidOut });
  const stamp = installStamp({ lockfile, tree, runtime });
  const installed = { lockfile, tree, stamp, runtime };

  test('nothing to do while the stamp holds', () => {
    expect(installState(installed)).toBe('ready');
  });

  test('a fresh clone has no packages', () => {
    expect(installState({ lockfile, tree: undefined, stamp: undefined, runtime })).toBe('install');
  });

  test('a changed lockfile means an install', () => {
    const changed = lockfile.replace('sha512-a', 'sha512-b');
    expect(installState({ ...installed, lockfile: changed })).toBe('install');
  });

  test('packages that `npm ci` laid out by hand are taken as they are', () => {
    expect(installState({ ...installed, stamp: undefined })).toBe('adopt');
  });

  test('a tree that npm changed after our stamp is looked at again', () => {
    const pruned = JSON.stringify({ packages: { 'node_modules/a': laidOut['node_modules/a'] } });
    expect(installState({ ...installed, tree: pruned })).toBe('install');
  });

  test.each([
    { abi: '137', platform: 'linux', arch: 'x64' },
    { abi: '115', platform: 'darwin', arch: 'arm64' },
  ])('packages fetched for another Node or machine are not used', (other) => {
    expect(installState({ ...installed, runtime: other })).toBe('install');
  });
});

describe('whether to build', () => {
  beforeEach(() => {
    for (const file of ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.mjs']) {
      write(file, '{}');
    }
    write('src/a.ts', 'export const a = 1;\n');
    write('src/deep/q.sql', 'SELECT 1;\n');
    mkdirSync(join(folder, 'dist'));
  });

  test('what was never built is not built', () => {
    expect(isBuilt(folder)).toBe(false);
  });

  describe('after a build', () => {
    beforeEach(() => {
      writeBuildStamp(folder);
    });

    test('the stamp holds, also after a checkout that changed times only', () => {
      utimesSync(join(folder, 'src/a.ts'), new Date(), new Date(0));
      write('src/a.test.ts', 'a test is not part of a build');
      expect(isBuilt(folder)).toBe(true);
    });

    test.each(['src/a.ts', 'src/deep/q.sql', 'src/new.ts', 'tsconfig.json', 'package-lock.json'])(
      'a change of %s asks for another',
      (file) => {
        write(file, 'changed');
        expect(isBuilt(folder)).toBe(false);
      },
    );
  });
});

describe('the lock between launches', () => {
  test('lets one in at a time', async () => {
    const path = join(folder, 'lock');
    const seen: string[] = [];
    const note = async (line: string) => void seen.push(line);
    let letGo = () => {};
    const waited = new Promise<void>((done) => {
      letGo = done;
    });
    const one = withLock(path, async () => {
      seen.push('one in');
      await waited;
      seen.push('one out');
    });
    const two = withLock(
      path,
      () => note('two in'),
      () => {
        seen.push('two waits');
        letGo();
      },
    );
    await Promise.all([one, two]);
    expect(seen).toEqual(['two waits', 'one in', 'one out', 'two in']);
    expect(existsSync(path)).toBe(false);
  });

  test('of a launch that was killed is taken over', async () => {
    const path = join(folder, 'lock');
    // A process id beyond what any kernel gives out.
    writeFileSync(path, JSON.stringify({ pid: 2 ** 30, host: hostname() }));
    await expect(withLock(path, async () => 'done')).resolves.toBe('done');
  });

  test('that nobody has touched for long is taken over', async () => {
    const path = join(folder, 'lock');
    writeFileSync(path, JSON.stringify({ pid: 1, host: 'another-machine' }));
    utimesSync(path, new Date(0), new Date(0));
    await expect(withLock(path, async () => 'done')).resolves.toBe('done');
  });
});

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a script of the small clone; `onOutput` is called when it has begun to print. */
function node(args: readonly string[], onOutput?: (script: ChildProcess) => void): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: join(folder, 'tools') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended: Ended = { code: null, stdout: '', stderr: '' };
  child.stderr.on('data', (chunk) => {
    ended.stderr += String(chunk);
  });
  child.stdout.on('data', (chunk) => {
    ended.stdout += String(chunk);
    onOutput?.(child);
  });
  return new Promise<Ended>((done, failed) => {
    child.once('error', failed);
    child.once('close', (code) => done({ ...ended, code }));
  });
}

describe.skipIf(process.platform === 'win32')('a fresh clone', () => {
  beforeEach(() => {
    for (const file of ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']) {
      cpSync(join(ROOT, file), join(folder, file));
    }
    for (const path of ['scripts', 'bin']) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    write('src/q.sql', 'SELECT 1;\n');
    write(
      'src/main/cli.ts',
      `process.on('SIGTERM', () => process.exit(7));
setTimeout(() => process.exit(9), process.argv.includes('--stay') ? 20_000 : 0);
process.stdout.write('cli ' + process.argv.slice(2).join(' ') + '\\n');
`,
    );
  });

  /** An npm that answers `ci` with this shell script. */
  function withNpm(script: string): void {
    write('tools/npm', `#!/bin/sh\nPATH=/usr/bin:/bin\necho "$1" >> ci.log\n${script}\n`);
    chmodSync(join(folder, 'tools/npm'), 0o755);
  }

  function withGoodNpm(): void {
    const real = join(ROOT, 'node_modules');
    withNpm(
      `mkdir node_modules && ln -s ${real}/* node_modules/ && cp package-lock.json node_modules/.package-lock.json`,
    );
  }

  test('is installed, built and started, with its own arguments and exit code', async () => {
    withGoodNpm();
    const launched = await node(['scripts/launch.mjs', 'start', '--port', '1']);
    expect(launched).toMatchObject({ code: 9, stdout: 'cli serve --demo --port 1\n' });
    expect(launched.stderr).toMatch(/^Installing packages \(npm ci\) \.\.\.\nInstalled in .* s\.\nBuilding/);
    expect(read('dist/q.sql')).toBe('SELECT 1;\n');

    const again = await node(['scripts/launch.mjs', 'demo']);
    expect(again).toEqual({ code: 9, stdout: 'cli demo\n', stderr: '' });
  });

  test('is installed once by two launches at the same time', async () => {
    withGoodNpm();
    const launches = [1, 2].map(() => node(['scripts/launch.mjs', 'demo']));
    for (const { code } of await Promise.all(launches)) expect(code).toBe(9);
    expect(read('ci.log')).toBe('ci\n');
  });

  test('installs what it is measured against for the bench alone, and goes on where that fails', async () => {
    withGoodNpm();
    write('bench/package-lock.json', '{ "packages": {} }');
    write('bench/main.mjs', "console.log('bench ' + process.argv.slice(2).join(' '));\n");
    await node(['scripts/launch.mjs', 'demo']);
    expect(read('ci.log')).toBe('ci\n');

    withNpm('echo $PWD; exit 1');
    const failed = await node(['scripts/launch.mjs', 'bench', '--quick']);
    expect(failed).toMatchObject({ code: 0, stdout: 'bench --quick\n' });
    expect(failed.stderr).toContain(join(folder, 'bench'));

    withGoodNpm();
    const bench = await node(['scripts/launch.mjs', 'bench']);
    expect(bench.stderr).toMatch(/^Installing packages \(npm ci in bench\) \.\.\.\nInstalled in .* s\.\n$/);
    expect((await node(['scripts/launch.mjs', 'bench'])).stderr).toBe('');
  });

  test('passes a signal on', async () => {
    withGoodNpm();
    const launched = await node(['scripts/launch.mjs', 'start', '--stay'], (script) =>
      script.kill('SIGTERM'),
    );
    expect(launched.code).toBe(7);
  });

  test('stops when the shell that npm put in between is killed', async () => {
    withGoodNpm();
    write('npm-shell.sh', `${process.execPath} scripts/launch.mjs start --stay\necho never\n`);
    const shell = spawn('/bin/sh', ['npm-shell.sh'], {
      cwd: folder,
      env: { PATH: join(folder, 'tools'), npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let stdout = '';
    shell.stdout.on('data', (chunk) => {
      stdout += String(chunk);
      shell.kill('SIGTERM');
    });
    // The pipe closes when the last process that holds it has ended.
    await once(shell, 'close');
    expect(stdout).toBe('cli serve --demo --stay\n');
  });

  test('tells what npm said when the packages cannot be installed', async () => {
    withNpm('echo "npm error network request failed, reason: ECONNREFUSED" >&2; exit 1');
    const { code, stdout, stderr } = await node(['scripts/launch.mjs', 'start']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('Installing the packages failed: npm ci ended with code 1');
    expect(stderr).toContain('ECONNREFUSED');
    expect(stderr).toContain('Check the network');
  });

  test('tells where npm comes from when there is none', async () => {
    const { code, stderr } = await node(['scripts/launch.mjs', 'test']);
    expect(code).toBe(1);
    expect(stderr).toContain('npm was not found. It comes with Node');
  });

  test('says what a command is for, when it is none of its own', async () => {
    const { code, stderr } = await node(['scripts/launch.mjs', 'toString']);
    expect(code).toBe(2);
    expect(stderr).toContain('start | demo | torture | test | check | bench');
  });

  test('says how to build before bin/claimcheck runs', async () => {
    const { code, stderr } = await node(['bin/claimcheck', 'list']);
    expect(code).toBe(1);
    expect(stderr).toContain('npm run build');
  });

  test('keeps the build it has when the next one fails, and knows that it is old', async () => {
    withGoodNpm();
    await node(['scripts/launch.mjs', 'demo']);
    write('src/main/cli.ts', 'const wrong: string = 1;\nprocess.stdout.write(wrong);\n');

    const failed = await node(['scripts/launch.mjs', 'demo']);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toContain('src/main/cli.ts');
    expect(read('dist/main/cli.js')).toContain('cli ');
    expect(isBuilt(folder)).toBe(false);
  });
});
