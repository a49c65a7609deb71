/** The engine as surfaces see it: its parts, put together. */
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import type { Announce } from './announce.ts';
import type { EngineApi } from './api.ts';
import { createArtifactReaders } from './artifacts.ts';
import { createDecisions } from './decisions.ts';
import { workflowViews } from './define.ts';
import type { WorkflowTable } from './define.ts';
import { createIntake } from './intake.ts';
import { createKeys } from './keys.ts';
import { createLiveText } from './live-text.ts';
import { createReaders } from './readers.ts';
import { createSpending } from './spending.ts';
import type { EngineSettings } from './settings.ts';
import { createUploads } from './uploads.ts';

export interface EngineDeps {
  store: Store;
  blobs: BlobStore;
  clock: Clock;
  wakeups: Wakeups;
  announce: Announce;
  workflows: WorkflowTable;
  settings: EngineSettings;
  /** An admin key accepted as given. */
  bootstrapKey: string | null;
  /** Time-ordered and unique: a ULID. */
  newId: () => string;
}

/** The tenant of everything, as long as there is one. */
export const DEFAULT_TENANT = 'default';

export function createEngine(deps: EngineDeps): EngineApi {
  const { store, blobs, clock, wakeups, announce, workflows, settings, newId } = deps;
  return {
    ...createIntake({ store: store.jobs, uploads: store.uploads, workflows, settings, announce, newId }),
    ...createReaders({ store: store.jobs, clock, wakeups }),
    ...createDecisions({ store: store.jobs, workflows, announce, settings }),
    ...createSpending({ ledger: store.ledger, jobs: store.jobs, workflows, settings }),
    ...createArtifactReaders({ store, blobs }),
    ...createUploads({ uploads: store.uploads, blobs, maxBytes: settings.maxUploadBytes, newId }),
    liveText: createLiveText(wakeups),
    ...createKeys({ keys: store.keys, bootstrapKey: deps.bootstrapKey, tenant: DEFAULT_TENANT }),
    workflows: () => workflowViews(workflows),
    async ready() {
      await Promise.all([store.jobs.ping(), blobs.ping()]);
    },
  };
}
