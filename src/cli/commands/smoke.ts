/** `smoke`: a live check of a provider, by a file that pins it, with a report of its own. */
import { Command } from 'commander';
import type { Context } from '../command.ts';
import { EXIT, Problem } from '../problem.ts';
import { jsonText } from '../text.ts';

interface SmokeOptions {
  out?: string;
  json?: true;
  example?: true;
}

export function smokeCommand({ host, finish }: Context): Command {
  return new Command('smoke')
    .description('Check a provider live, by a file that pins what is asked and what it may cost.')
    .argument('[file]', 'the pins, as JSON')
    .option('-o, --out <file>', 'where the report goes (default: smoke-reports/NAME-INSTANT.json)')
    .option('--json', 'print the report')
    .option('--example', 'print a complete file to start from, and call nothing')
    .action(async (file: string | undefined, options: SmokeOptions) => {
      if (options.example === true) {
        const { SMOKE_EXAMPLE } = await import('../smoke-example.ts');
        host.io.out(`${jsonText(SMOKE_EXAMPLE)}\n`);
        return finish(EXIT.ok);
      }
      if (file === undefined) {
        throw new Problem(
          `Give the file of pins, or --example to see one: ${host.command} smoke --example`,
          EXIT.usage,
        );
      }
      // Loaded where it is run, as the rest of a check is.
      const { smoke } = await import('../smoking.ts');
      const report = await smoke(file, options, host);
      finish(report.as_pinned ? EXIT.ok : EXIT.failed);
    });
}
