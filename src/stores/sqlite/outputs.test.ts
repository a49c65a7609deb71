import { afterEach, beforeEach, expect, it } from 'vitest';
import { completion, Fixture } from '../../testkit/store/fixture.ts';
import type { OpenedStore } from '../../testkit/store/fixture.ts';
import { openSqliteForTest } from '../../testkit/store/sqlite.ts';

let opened: OpenedStore;
let f: Fixture;

beforeEach(async () => {
  opened = await openSqliteForTest();
  f = new Fixture(opened);
});

afterEach(() => opened.dispose());

const bytes = new TextEncoder().encode('{}');
const mediaType = 'application/json';

function outputOf({ jobId, token }: { jobId: string; token: number }) {
  return { uri: `artifacts/${jobId}/${token}.json`, mediaType, bytes };
}

it('an output is read by the URI that the record has, and by no other of its job', async () => {
  const claimed = await f.running('ses_1');
  const output = outputOf(claimed);
  const named = { ...output, uri: `artifacts/${claimed.jobId}/named` };
  expect(await f.jobs.inlineBlob({ uri: output.uri })).toBeNull();
  await f.settle(completion(claimed, [output, named]));
  expect(await f.jobs.inlineBlob({ uri: output.uri })).toEqual(output);
  expect(await f.jobs.inlineBlob({ uri: named.uri })).toEqual(named);
  for (const uri of [
    `artifacts/${claimed.jobId}/0.json`,
    `${output.uri}\u0000`,
    `artifacts/${claimed.jobId}`,
  ])
    expect(await f.jobs.inlineBlob({ uri })).toBeNull();
});

it('what differs from its record, or is said to be of another job, is kept as it is', async () => {
  const other = await f.running('ses_1');
  const claimed = await f.running('ses_1');
  const plain = { ...outputOf(claimed), mediaType: 'text/plain' };
  await f.settle(completion(claimed, [plain]));
  expect(await f.jobs.inlineBlob({ uri: plain.uri })).toEqual(plain);
  const settlement = completion(other);
  const elsewhere = outputOf({ ...other, jobId: 'job_elsewhere' });
  if (settlement.command.type === 'complete') settlement.command.artifact.uri = elsewhere.uri;
  await f.settle({ ...settlement, blobs: [elsewhere] });
  expect(await f.jobs.inlineBlob({ uri: elsewhere.uri })).toEqual(elsewhere);
});
