/** What every command has in common: the settings it takes as flags, and a desk that is closed after use. */
import { Option } from 'commander';
import type { Command } from 'commander';
import type { Desk } from './desk.ts';
import type { DeskOptions, Flags, Host } from './host.ts';

/** Sets the exit code of the program once a command has ended. */
type Finish = (exitCode: number) => void;

export interface Context {
  host: Host;
  finish: Finish;
}

/** Adds the settings of these groups as flags, listed after the command's own options. */
export function withSettings(command: Command, host: Host, groups: readonly string[]): Command {
  for (const { flags, doc, group, groupTitle } of host.settingFlags) {
    if (groups.includes(group)) command.addOption(new Option(flags, doc).helpGroup(`${groupTitle}:`));
  }
  return command;
}

/** The settings among a command's options, as their flags were given. */
export function flagsOf(options: object, host: Host, groups: readonly string[]): Flags {
  const given = options as Record<string, string | undefined>;
  const keys = host.settingFlags.filter(({ group }) => groups.includes(group)).map(({ key }) => key);
  return Object.fromEntries(keys.map((key) => [key, given[key]]));
}

/** What says where a command asks. */
export const CLIENT_GROUPS = ['client', 'store'];

/** A command that asks at a desk. `act` answers with the exit code. */
export function deskCommand<Options extends object>(
  command: Command,
  { host, finish }: Context,
  act: (desk: Desk, options: Options, args: string[]) => Promise<number>,
  deskOptions: (options: Options) => DeskOptions = () => ({
    makesStore: false,
    needsWorkflows: false,
    demo: false,
  }),
): Command {
  withSettings(command, host, CLIENT_GROUPS);
  return command.action(async (...given: unknown[]) => {
    const options = command.opts<Options>();
    const args = given.slice(0, -2) as string[];
    const desk = await host.openDesk(flagsOf(options, host, CLIENT_GROUPS), deskOptions(options));
    try {
      finish(await act(desk, options, args));
    } finally {
      await desk.close();
    }
  });
}
