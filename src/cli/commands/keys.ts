import { Command } from 'commander';
import { SCOPES } from '../../domain/scopes.ts';
import type { Scope } from '../../domain/scopes.ts';
import { deskCommand } from '../command.ts';
import type { Context } from '../command.ts';
import type { KeyJson } from '../desk.ts';
import type { Host } from '../host.ts';
import { scopes } from '../options.ts';
import { EXIT, Problem } from '../problem.ts';
import { columns, jsonText, palette, plain } from '../text.ts';

export function keysCommand(context: Context): Command {
  return new Command('keys')
    .description('Make, list and revoke API keys.')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(revokeCommand(context));
}

function createCommand(context: Context): Command {
  const { io } = context.host;
  const command = new Command('create')
    .description('Make a key. It is printed this once; only a digest of it is kept.')
    .argument('[name]', 'what it is for')
    .option('--name <name>', 'the same as an option')
    .option(
      '-s, --scope <scope>',
      `what it may do: ${SCOPES.join(', ')}; may be repeated; admin by default`,
      scopes,
    )
    .option('--json', 'print JSON');
  return deskCommand<{ name?: string; scope?: Scope[]; json?: true }>(
    command,
    context,
    async (desk, { name: option, scope, json }, [argument]) => {
      if (option !== undefined && argument !== undefined) {
        throw new Problem('Give the name once: as the argument or as --name.', EXIT.usage);
      }
      const name = argument ?? option ?? 'unnamed';
      const created = await desk.createKey(name, scope);
      io.out(json === true ? `${jsonText(created, 0)}\n` : `${plain(created.key)}\n`);
      if (json !== true && io.isTerminal) io.err('Keep it now: it is not shown again.\n');
      return EXIT.ok;
    },
    () => ({ makesStore: true, needsWorkflows: false, demo: false }),
  );
}

function listCommand(context: Context): Command {
  const { io } = context.host;
  const command = new Command('list')
    .description('List the keys, without their secrets.')
    .option('--json', 'print JSON');
  return deskCommand<{ json?: true }>(command, context, async (desk, { json }) => {
    const keys = await desk.listKeys();
    if (json === true) io.out(`${jsonText({ keys })}\n`);
    else printKeys(keys, context.host);
    return EXIT.ok;
  });
}

function revokeCommand(context: Context): Command {
  const { io } = context.host;
  const command = new Command('revoke')
    .description('End a key for good.')
    .argument('<id>', 'the id of the key, as `keys list` shows it')
    .option('--json', 'print JSON');
  return deskCommand<{ json?: true }>(command, context, async (desk, { json }, [given = '']) => {
    const id = idOf(given);
    await desk.revokeKey(id);
    io.out(json === true ? `${jsonText({ id, revoked: true }, 0)}\n` : `${plain(id)} is revoked.\n`);
    return EXIT.ok;
  });
}

/** People paste the whole key: its id is in it. */
function idOf(given: string): string {
  return /^ck_([^_]+)_/.exec(given)?.[1] ?? given;
}

function printKeys(keys: readonly KeyJson[], { io, command }: Host): void {
  if (keys.length === 0) return io.err(`No keys yet: ${command} keys create\n`);
  const { dim } = palette(io.hasColour);
  const header = ['ID', 'NAME', 'SCOPES', 'MADE', 'REVOKED'].map((text) => ({ text, style: dim }));
  const rows = keys.map((key) => [
    { text: key.id },
    { text: key.name },
    { text: key.scopes.join(', ') },
    { text: key.created_at },
    { text: key.revoked_at ?? '' },
  ]);
  io.out(`${columns([header, ...rows]).join('\n')}\n`);
}
