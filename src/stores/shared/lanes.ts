/** Lanes, in every store: what jobs have in common that one worker may claim together. A lane's row never changes. */
import type { Move, Suspicion } from '../../domain/decide.ts';

export interface LaneTitle {
  lane: number;
  tenant: string;
  workflow: string;
  version: string;
  output_schema_sha256: string;
}

/** Suspects wait in lanes of their own, since few of them are claimed at a time. */
export interface LaneRow extends LaneTitle {
  suspicion: Suspicion;
}

export type LaneName = Omit<LaneRow, 'lane'>;

/** Lengths keep apart what a separator inside a name would mix up. */
export function nameOf(name: LaneName): string {
  const { tenant, workflow, version, output_schema_sha256, suspicion } = name;
  const lengths = `${tenant.length} ${workflow.length} ${version.length}`;
  return `${suspicion} ${lengths} ${tenant}${workflow}${version}${output_schema_sha256}`;
}

/** The lane in which a job waits after a move; null where it is the one it was in. */
export function laneAfter(lane: LaneRow, move: Move): LaneName | null {
  const suspicion = move.suspicion ?? lane.suspicion;
  const pinned = move.outputSchemaSha256 ?? lane.output_schema_sha256;
  if (suspicion === lane.suspicion && pinned === lane.output_schema_sha256) return null;
  return { ...lane, suspicion, output_schema_sha256: pinned };
}
