/** What a lane is called, in every store: its row never changes. */
export interface LaneRow {
  lane: number;
  tenant: string;
  workflow: string;
  version: string;
  output_schema_sha256: string;
}

export type LaneName = Omit<LaneRow, 'lane'>;

/** Lengths keep apart what a separator inside a name would mix up. */
export function nameOf({ tenant, workflow, version, output_schema_sha256 }: LaneName): string {
  return `${tenant.length} ${workflow.length} ${version.length} ${tenant}${workflow}${version}${output_schema_sha256}`;
}
