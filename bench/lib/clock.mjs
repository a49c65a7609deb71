/** Milliseconds of the machine's monotonic clock, which all its processes share. */
export function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Milliseconds of processor time that this process has used. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
