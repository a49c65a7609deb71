/** What the commands need of this process: servers, stores and desks, opened by the settings. */
import type { Host, Io, SettingFlag } from '../cli/host.ts';
import { GROUPS, SETTINGS, flagOf } from './setting-table.ts';
import type { Setting } from './setting-table.ts';
import { VERSION } from './version.ts';

/** @param command what a reader types to call this program */
export function commandHost(io: Io, command: string): Host {
  return {
    version: VERSION,
    command,
    io,
    settingFlags: settingFlags(),
    // Loaded where they are run: a server's parts would triple the time of every other command, a store's that of every help.
    serve: async (flags, options) => (await import('./serve.ts')).serve(flags, options, io, command),
    work: async (flags, options) => (await import('./work.ts')).work(flags, options, io),
    demo: () => demo(io),
    migrate: async (flags) => (await import('./desks.ts')).migrate(flags),
    migrationSql: async (flags) => (await import('./desks.ts')).migrationSql(flags),
    workflows: async (flags, options) => (await import('./desks.ts')).workflows(flags, options),
    openDesk: async (flags, options) => (await import('./desks.ts')).openDesk(flags, options),
    openSmoke: async (file) => (await import('./smoke.ts')).openSmoke(file),
  };
}

function settingFlags(): SettingFlag[] {
  return Object.entries<Setting>(SETTINGS).map(([key, setting]) => ({
    key,
    flags: `${flagOf(key)} <${placeholder(setting)}>`,
    doc: helpOf(setting),
    group: setting.group,
    groupTitle: GROUPS[setting.group].title,
  }));
}

function placeholder(setting: Setting): string {
  if (setting.kind === 'integer') return setting.unit === '' ? 'n' : setting.unit;
  if (setting.kind === 'amount') return 'usd';
  if (setting.kind === 'choice') return setting.choices.join('|');
  return setting.kind === 'path' ? 'dir' : setting.kind;
}

function helpOf({ doc, default: standard }: Setting): string {
  return standard === null ? doc : `${doc} (default: ${standard})`;
}

async function demo(io: Io): Promise<boolean> {
  const { runDemo } = await import('./demo.ts');
  const { passed } = await runDemo({ write: (line: string) => io.out(`${line}\n`) });
  return passed;
}
