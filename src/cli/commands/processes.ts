/** The commands that are processes of their own: `serve`, `work`, `demo`, `migrate`. */
import { Command } from 'commander';
import { flagsOf, withSettings } from '../command.ts';
import type { Context } from '../command.ts';
import { EXIT } from '../problem.ts';
import { jsonText, plain } from '../text.ts';

const SERVE_GROUPS = ['api', 'store', 'worker', 'limits', 'money', 'log', 'faults'];
const WORK_GROUPS = ['store', 'worker', 'limits', 'money', 'log', 'faults'];
const STORE_GROUPS = ['store'];

export function serveCommand({ host, finish }: Context): Command {
  const command = new Command('serve')
    .description('Serve the API, with a worker in a process that it keeps alive.')
    .option('--no-worker', `the API alone; run \`${host.command} work\` beside it`)
    .option('--demo', 'add the built-in examples and the invoice uploads/abc.pdf to try');
  return withSettings(command, host, SERVE_GROUPS).action(async () => {
    const options = command.opts<{ worker: boolean; demo?: true }>();
    const { worker, demo = false } = options;
    finish(await host.serve(flagsOf(options, host, SERVE_GROUPS), { worker, demo }));
  });
}

export function workCommand({ host, finish }: Context): Command {
  const command = new Command('work')
    .description(
      'Run a worker alone. Nothing restarts it: let your supervisor do that, also on exit code 75.',
    )
    .option('--demo', 'know the built-in examples besides CLAIMCHECK_WORKFLOWS');
  return withSettings(command, host, WORK_GROUPS).action(async () => {
    const options = command.opts<{ demo?: true }>();
    finish(await host.work(flagsOf(options, host, WORK_GROUPS), { demo: options.demo === true }));
  });
}

export function demoCommand({ host, finish }: Context): Command {
  return new Command('demo')
    .description('Run the six cases on a store of their own, one PASS line each; exit code 1 if one fails.')
    .action(async () => finish((await host.demo()) ? EXIT.ok : EXIT.failed));
}

export function migrateCommand({ host, finish }: Context): Command {
  const command = new Command('migrate')
    .description("Bring the store's schema up to this version. `serve` and `work` do it by themselves.")
    .option('--json', 'print JSON')
    .option('--dry-run', 'print the SQL that would run in the database, and run nothing');
  return withSettings(command, host, STORE_GROUPS).action(async () => {
    const options = command.opts<{ json?: true; dryRun?: true }>();
    if (options.dryRun === true) {
      host.io.out(await host.migrationSql(flagsOf(options, host, STORE_GROUPS)));
      return finish(EXIT.ok);
    }
    const migrated = await host.migrate(flagsOf(options, host, STORE_GROUPS));
    const { description, version } = migrated;
    host.io.out(
      options.json === true
        ? `${jsonText(migrated, 0)}\n`
        : `${plain(description)} has schema version ${version}, as this version of Claimcheck needs it.\n`,
    );
    finish(EXIT.ok);
  });
}
