import { Command } from 'commander';
import { CLIENT_GROUPS, flagsOf, withSettings } from '../command.ts';
import type { Context } from '../command.ts';
import { EXIT } from '../problem.ts';
import { columns, jsonText, palette } from '../text.ts';
import type { Cell } from '../text.ts';

export function workflowsCommand({ host, finish }: Context): Command {
  const { io } = host;
  const command = new Command('workflows')
    .description('List what can be asked for: names, versions, and whether they take a file.')
    .option('--demo', 'with the built-in examples besides CLAIMCHECK_WORKFLOWS')
    .option('--json', 'print JSON, with the JSON Schema of each input');
  return withSettings(command, host, CLIENT_GROUPS).action(async () => {
    const options = command.opts<{ demo?: true; json?: true }>();
    const workflows = await host.workflows(flagsOf(options, host, CLIENT_GROUPS), {
      demo: options.demo === true,
    });
    const { dim } = palette(io.hasColour);
    const header = ['NAME', 'VERSION', 'FILE'].map((text) => ({ text, style: dim }));
    const rows: Cell[][] = workflows.map(({ name, version, input_file: file }) => [
      { text: name },
      { text: version },
      { text: file },
    ]);
    io.out(
      options.json === true ? `${jsonText({ workflows })}\n` : `${columns([header, ...rows]).join('\n')}\n`,
    );
    finish(EXIT.ok);
  });
}
