/** What `serve` prints once it listens: where, with which key, and three lines to try. */
import type { WorkflowDefinition } from '../engine/workflow.ts';
import type { FirstKey } from './first-key.ts';

export interface BannerFacts {
  version: string;
  /** The address as it listens, such as `http://0.0.0.0:8484`. */
  url: string;
  store: string;
  workflows: readonly Pick<WorkflowDefinition, 'name' | 'version' | 'inputFile'>[];
  key: FirstKey;
  sample: Sample;
  hasWorker: boolean;
  /** What a reader types to call this program. */
  command: string;
}

/** A request that can be tried as it stands: on uploads/abc.pdf, with the example `demo`, or none for workflows of others. */
export type Sample = 'invoice' | 'demo' | 'none';

export function banner(facts: BannerFacts): string {
  const { version, url, store, workflows, key, command } = facts;
  const worker = facts.hasWorker
    ? 'one process, kept alive by this one'
    : `none here: run \`${command} work\` beside it`;
  return [
    `Claimcheck ${version} listens on ${url}`,
    '',
    `  store      ${store}`,
    `  workflows  ${workflows.map((one) => `${one.name} (version ${one.version})`).join(', ')}`,
    `  worker     ${worker}`,
    '',
    ...keyLines(key, command),
    '',
    facts.sample === 'none'
      ? 'Hand in a job from another terminal; /workflows says what each workflow takes:'
      : 'Try it in another terminal:',
    '',
    ...tryLines(facts).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

function keyLines(key: FirstKey, command: string): string[] {
  const another = `\`${command} keys create\` makes another`;
  switch (key.kind) {
    case 'made':
      return [`Your first API key, shown this once (${another}):`, '', `  ${key.key}`];
    case 'bootstrap':
      return [`The API key is the one in CLAIMCHECK_BOOTSTRAP_KEY; ${another}.`];
    case 'earlier':
      return [`It takes the API keys made before; ${another}.`];
  }
}

/** For bash, dash and zsh. Whatever is refused, and a server that is gone, ends the loop. */
function tryLines(facts: BannerFacts): string[] {
  const api = `API=${reachable(facts.url)}  AUTH="Authorization: Bearer ${keyWord(facts.key)}"`;
  const post = `$API/ai-jobs -H "$AUTH" -H 'Content-Type: application/json' -d '${requestText(facts)}'`;
  if (facts.sample === 'none') return [api, 'curl -sS $API/workflows -H "$AUTH"', `curl -sS ${post}`];
  const unfinished = `*'"artifact":null,"error":null'*`;
  return [
    api,
    `JOB=$(curl -fsS ${post} | sed -n 's/.*"job_id":"\\([^"]*\\)".*/\\1/p'); echo $JOB`,
    `while S=$(curl -fsS "$API/ai-jobs/$JOB?wait=20" -H "$AUTH"); do case $S in ${unfinished}) ;; *) printf '%s\\n' "$S"; break ;; esac; done`,
    'curl -fsS $API/ai-jobs/$JOB/artifact -H "$AUTH"',
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

/** The body; what only the workflow's writer knows is a placeholder that no server takes. */
function requestText({ workflows, sample }: BannerFacts): string {
  if (sample === 'invoice') return '{"workflow":"invoice_summary","input_ref":"uploads/abc.pdf"}';
  if (sample === 'demo') return '{"workflow":"demo","input":{"mode":"success"}}';
  const [first] = workflows;
  const what =
    first?.inputFile === 'required' ? '"input_ref":<what POST /uploads answered>' : '"input":<your input>';
  return `{"workflow":"${first?.name}",${what}}`;
}

/** An address for a client: one listens on every address, but talks to one. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
