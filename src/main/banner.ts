/** What `serve` prints once it listens: where, with which key, and three lines to try. */
import type { FirstKey } from './first-key.ts';

export interface BannerFacts {
  version: string;
  /** The address as it listens, such as `http://0.0.0.0:8484`. */
  url: string;
  store: string;
  workflows: readonly { name: string; version: string }[];
  key: FirstKey;
  /** Whether uploads/abc.pdf is there to be read. */
  hasInvoice: boolean;
  hasWorker: boolean;
}

export function banner(facts: BannerFacts): string {
  const { version, url, store, workflows, key } = facts;
  const worker = facts.hasWorker
    ? 'one process, kept alive by this one'
    : 'none here: run `claimcheck work` beside it';
  return [
    `Claimcheck ${version} listens on ${url}`,
    '',
    `  store      ${store}`,
    `  workflows  ${workflows.map((one) => `${one.name} (version ${one.version})`).join(', ')}`,
    `  worker     ${worker}`,
    '',
    ...keyLines(key),
    '',
    'Try it in another terminal:',
    '',
    ...tryLines(facts).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

function keyLines(key: FirstKey): string[] {
  switch (key.kind) {
    case 'made':
      return [
        'Your first API key, shown this once (`claimcheck keys create` makes another):',
        '',
        `  ${key.key}`,
      ];
    case 'bootstrap':
      return ['The API key is the one in CLAIMCHECK_BOOTSTRAP_KEY; `claimcheck keys create` makes another.'];
    case 'earlier':
      return ['It takes the API keys made before; `claimcheck keys create` makes another.'];
  }
}

function tryLines(facts: BannerFacts): string[] {
  const body = JSON.stringify(sampleRequest(facts));
  return [
    `API=${reachable(facts.url)}  AUTH="Authorization: Bearer ${keyWord(facts.key)}"`,
    `JOB=$(curl -sS $API/ai-jobs -H "$AUTH" -H 'Content-Type: application/json' -d '${body}' | sed 's/.*"job_id":"\\([^"]*\\)".*/\\1/'); echo $JOB`,
    `until curl -sS "$API/ai-jobs/$JOB?wait=20" -H "$AUTH" | grep -v '"artifact":null,"error":null'; do :; done`,
    'curl -sS $API/ai-jobs/$JOB/artifact -H "$AUTH"',
  ];
}

/** What the shell is to take as the key: the key itself where it was made just now, else the variable that holds one. */
function keyWord(key: FirstKey): string {
  switch (key.kind) {
    case 'made':
      return key.key;
    case 'bootstrap':
      return '$CLAIMCHECK_BOOTSTRAP_KEY';
    case 'earlier':
      return '$CLAIMCHECK_API_KEY';
  }
}

function sampleRequest({ workflows, hasInvoice }: BannerFacts): object {
  if (hasInvoice) return { workflow: 'invoice_summary', input_ref: 'uploads/abc.pdf' };
  if (workflows.some(({ name }) => name === 'demo')) return { workflow: 'demo', input: { mode: 'success' } };
  return { workflow: workflows[0]?.name, input: {} };
}

/** An address for a client: one listens on every address, but talks to one. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
