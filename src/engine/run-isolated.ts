/** Calls a user's function once in a process of its own, which the attempt's grace ends by force. Never rejects. */
import type { ArtifactRef, NamedArtifact } from '../domain/record.ts';
import { classify } from '../domain/thrown.ts';
import type { AttemptHost, IsolatedEnd, Isolation } from '../ports/isolation.ts';
import type { ClaimedJob } from '../ports/job-store.ts';
import type { CallDesk } from '../ports/models.ts';
import { isArtifactName, isMediaType } from './named-artifacts.ts';
import { NOTE_LIMIT, clamp } from './run-workflow.ts';
import type { Ran, RunDeps } from './run-workflow.ts';
import { workflowLog } from './workflow-log.ts';

/** What the sentence of the code does not say: the worker is there, and only the attempt's process is not. */
const PROCESS_LOST = 'The process that ran the attempt ended before it was done.';

export interface IsolatedDeps extends RunDeps {
  /** The record's side of its calls to models. */
  calls: CallDesk;
}

export async function runIsolated(
  isolation: Isolation,
  job: ClaimedJob,
  deps: IsolatedDeps,
  givenUp: Promise<unknown>,
): Promise<Ran> {
  const kept = new Map<string, ArtifactRef>();
  const { maxOutputBytes, signal } = deps;
  try {
    const end = await isolation.run({
      job,
      maxOutputBytes,
      signal,
      givenUp,
      host: hostOf(job, deps, kept),
    });
    if (end.type === 'lost' && !signal.aborted) deps.log.warn({}, end.how);
    return ranOf(end, kept);
  } catch (error) {
    return { thrown: classify(error) };
  }
}

/** What the process says is checked here again: it may be that of a function which means harm, or is confused. */
function hostOf(job: ClaimedJob, deps: IsolatedDeps, kept: Map<string, ArtifactRef>): AttemptHost {
  const { uploads, blobs, keeper, clock, signal, log } = deps;
  const places = new Set<number>();
  return {
    get calls() {
      return deps.calls;
    },
    log: workflowLog(deps.log),
    progress: (fraction, note) => deps.progress(clamp(fraction), note?.slice(0, NOTE_LIMIT) ?? null),
    async file() {
      const { tenant, inputRef: ref } = job;
      const upload = ref === null ? null : await uploads.find({ tenant, ref });
      const blob = upload === null ? null : await blobs.open({ uri: upload.ref });
      return upload === null || blob === null ? null : { upload, ...blob };
    },
    async keep(place, body, mediaType) {
      const isNew = Number.isSafeInteger(place) && !places.has(place);
      if (!isNew || !isMediaType(mediaType)) throw new TypeError('no such artifact can be kept');
      places.add(place);
      const ref = await keeper.keep('artifacts', `named-${place}`, body, mediaType, { clock, signal, log });
      kept.set(ref.uri, ref);
      return ref;
    },
  };
}

function ranOf(end: IsolatedEnd, kept: ReadonlyMap<string, ArtifactRef>): Ran {
  switch (end.type) {
    case 'returned':
      return { output: end.output, artifacts: namedArtifacts(end.artifacts, kept) };
    case 'threw':
      return { thrown: end.thrown };
    case 'lost':
      return { thrown: { code: 'worker_lost', message: PROCESS_LOST, text: end.how } };
  }
}

/** @throws Error where one was never kept, or has no name of an artifact */
function namedArtifacts(
  named: readonly { name: string; uri: string }[],
  kept: ReadonlyMap<string, ArtifactRef>,
): NamedArtifact[] {
  const names = new Set<string>();
  return named.map(({ name, uri }) => {
    const ref = kept.get(uri);
    if (ref === undefined || !isArtifactName(name) || names.has(name)) {
      throw new Error('the process of the attempt named an artifact that it did not keep');
    }
    names.add(name);
    return { name, ...ref };
  });
}
