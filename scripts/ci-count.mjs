// Prints the last line of .ci/run and sets its exit code. Arguments: the folder with tests.json (vitest's) and
// check.log (of npm run check), and the exit codes of the two.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '.', testCode, checkCode] = process.argv.slice(2);

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Count
 * @typedef {object} VitestReport
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {{ status: string, assertionResults: { status: string }[] }[]} testResults
 */

/** @returns {Count} */
function countTests() {
  const report = readReport();
  if (report === undefined) return { passed: 0, failed: 0, skipped: 0 };
  // A file that failed to load, or failed outside its tests, has no failed test to its name.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((one) => one.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/**
 * Undefined when the tests did not get as far as a whole report.
 *
 * @returns {VitestReport | undefined}
 */
function readReport() {
  try {
    return /** @type {VitestReport} */ (JSON.parse(readFileSync(join(folder, 'tests.json'), 'utf8')));
  } catch {
    return undefined;
  }
}

/** @returns {Count} */
function countSteps() {
  const lines = readFileSync(join(folder, 'check.log'), 'utf8').split('\n');
  const count = (/** @type {RegExp} */ form) => lines.filter((line) => form.test(line)).length;
  return {
    passed: count(/^ok .+ \d+\.\d s$/),
    failed: count(/^FAILED .+ \d+\.\d s$/),
    skipped: 0,
  };
}

/**
 * A command that found nothing, or that failed without saying what, is one failure more.
 *
 * @param {Count} count
 * @param {string | undefined} code
 */
function withCrash(count, code) {
  const silent = count.failed === 0 && (code !== '0' || count.passed === 0);
  return silent ? { ...count, failed: 1 } : count;
}

const tests = withCrash(countTests(), testCode);
const steps = withCrash(countSteps(), checkCode);
const failed = tests.failed + steps.failed;
const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : '';
console.log(`${tests.passed + steps.passed} passed, ${failed} failed${skipped}`);
process.exitCode = failed === 0 ? 0 : 1;
