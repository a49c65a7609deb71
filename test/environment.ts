/**
 * Runs before every test file: nothing of ours from outside, and a terminal's wishes neither, for the tests and for every
 * process that they start.
 */
for (const name of Object.keys(process.env)) {
  if (/^(CLAIMCHECK_|FORCE_COLOR$|NO_COLOR$)/.test(name)) delete process.env[name];
}
