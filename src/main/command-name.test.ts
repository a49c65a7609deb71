import { expect, test } from 'vitest';
import { commandName } from './command-name.ts';

test.each([
  ['in a clone, from its root', '/home/me/clone/bin/claimcheck', '/home/me/clone', './bin/claimcheck'],
  ['in a clone, from elsewhere', '/home/me/clone/bin/claimcheck', '/srv', '/home/me/clone/bin/claimcheck'],
  [
    'below a name with a blank',
    '/home/me/my clone/bin/claimcheck',
    '/',
    "'./home/me/my clone/bin/claimcheck'",
  ],
  ['installed for everybody', '/usr/local/bin/claimcheck', '/srv', 'claimcheck'],
  ['installed in an app', '/srv/app/node_modules/.bin/claimcheck', '/srv/app', 'npx claimcheck'],
  ['by a shim that names the package', '/x/node_modules/claimcheck/bin/claimcheck', '/x', 'claimcheck'],
  ['as a part of another program', '/srv/app/server.js', '/srv/app', 'claimcheck'],
  ['by nothing', undefined, '/', 'claimcheck'],
])('%s it is called so', (_, script, cwd, name) => {
  expect(commandName({ script, cwd, path: '/usr/bin:/usr/local/bin' })).toBe(name);
});
