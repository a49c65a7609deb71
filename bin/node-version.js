// Old syntax on purpose: a Node too old to run the rest must still be able to print this sentence.
'use strict';

/** @type {{ engines: { node: string } }} */
const manifest = require('../package.json');

/**
 * What to tell a user whose Node is too old; undefined when it is not.
 *
 * @param {string} version such as 20.19.0
 * @returns {string | undefined}
 */
function nodeVersionProblem(version) {
  const needed = manifest.engines.node.replace('>=', '');
  const least = needed.split('.').map(Number);
  const found = version.split('.').map(Number);
  const major = Number(least[0]);
  const minor = Number(least[1]);
  const newEnough = Number(found[0]) > major || (Number(found[0]) === major && Number(found[1]) >= minor);
  if (newEnough) return undefined;
  return 'Claimcheck needs Node ' + needed + ' or newer; this is Node ' + version + '.';
}

module.exports = { nodeVersionProblem: nodeVersionProblem };
