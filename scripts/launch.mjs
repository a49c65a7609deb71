/**
 * The launcher behind `npm start`, `npm test`, `npm run demo`, `npm run bench`, `npm run torture` and `npm run check`: on a
 * fresh clone it installs what is missing and builds, then runs the command.
 *
 * Tried on: Linux x64, Node 20 and Node 24. Written for macOS and Windows as well, where it has
 * not been tried.
 *
 * This file keeps to old syntax so that an old Node gets as far as the sentence about its version;
 * everything else is behind the dynamic import.
 */
import nodeVersion from '../bin/node-version.js';

const problem = nodeVersion.nodeVersionProblem(process.versions.node);

if (problem !== undefined) {
  console.error(problem);
  process.exitCode = 1;
} else {
  import('./launcher/main.mjs')
    .then((launcher) => launcher.main(process.argv.slice(2)))
    .then((code) => process.exit(code))
    .catch((error) => {
      console.error(error);
      process.exit(1);
    });
}
