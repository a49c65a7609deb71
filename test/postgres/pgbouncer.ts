/**
 * A pgbouncer of our own in transaction mode, in front of a PostgreSQL server: it lends each of a few connections to whoever
 * begins a transaction. It refuses to run as root, so there it runs as `nobody`.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from './server.ts';

export interface Pgbouncer {
  url: string;
  /** Rows of its own console: `SHOW SERVERS`. */
  show(what: 'CLIENTS' | 'SERVERS'): Promise<Record<string, unknown>[]>;
  /** Kills it, and starts it again on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const START_MS = 10_000;
const NOBODY = 65_534;

/** Where the program is; null where it is not installed. */
export const PGBOUNCER = find();

/** @param poolSize how many connections to the server there are at most */
export async function startPgbouncer(target: string, poolSize: number): Promise<Pgbouncer> {
  const directory = await mkdtemp(join(tmpdir(), 'claimcheck-pgbouncer-'));
  await chmod(directory, 0o755);
  const url = new URL(target);
  const { hostname, port, username } = url;
  url.port = `${await freePort()}`;
  const config = join(directory, 'pgbouncer.ini');
  await writeFile(join(directory, 'users'), `"${username}" ""\n`);
  await writeFile(
    config,
    `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${url.port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(directory, 'users')}
admin_users = ${username}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 500
`,
  );
  let bouncer = await start(config, url.href);
  return {
    url: url.href,
    show: (what) => show(url, what),
    async restart() {
      await end(bouncer);
      bouncer = await start(config, url.href);
    },
    async stop() {
      await end(bouncer);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function find(): string | null {
  for (const directory of [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']) {
    const path = join(directory, 'pgbouncer');
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not here
    }
  }
  return null;
}

async function start(config: string, url: string): Promise<ChildProcess> {
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const bouncer = spawn(PGBOUNCER ?? 'pgbouncer', ['--quiet', config], {
    ...identity,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  bouncer.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = `${log}${text}`.slice(-10_000);
  });
  for (const until = performance.now() + START_MS; performance.now() < until; await sleep(20)) {
    if (bouncer.exitCode !== null) break;
    if (await answers(url)) return bouncer;
  }
  bouncer.kill('SIGKILL');
  throw new Error(`the pgbouncer of the tests did not start:\n${log}`);
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function show(url: URL, what: string): Promise<Record<string, unknown>[]> {
  const console = new URL(url);
  console.pathname = '/pgbouncer';
  const client = new Client({ connectionString: console.href });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(`SHOW ${what}`)).rows;
  } finally {
    await client.end();
  }
}

async function end(bouncer: ChildProcess): Promise<void> {
  if (bouncer.exitCode !== null || bouncer.signalCode !== null) return;
  const gone = once(bouncer, 'exit');
  bouncer.kill('SIGKILL');
  await gone;
}
