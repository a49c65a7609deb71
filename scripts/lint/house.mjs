/**
 * The import rules of the house, as an oxlint plugin.
 *
 * A room is a folder under src/. Floors import downwards only and siblings do not know each other,
 * so every room lists what it may name. Relative imports are resolved to the room they reach: a
 * pattern over the written path could not tell `../x.ts` inside a room from one that leaves it.
 */
import { builtinModules } from 'node:module';
import { dirname, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Room
 * @property {readonly string[] | 'any'} rooms rooms it may import
 * @property {readonly string[]} [types] rooms it may import types from, and only types
 * @property {boolean | 'types'} [node] may import node:*, or types from there
 * @property {readonly string[] | 'any'} [packages] npm packages it may import
 *
 * @typedef {object} AstNode as much of a syntax node as these rules read
 * @property {string} type
 * @property {string} [name]
 * @property {unknown} [value]
 * @property {AstNode | null} [source]
 * @property {string} [importKind]
 * @property {string} [exportKind]
 * @property {readonly AstNode[]} [specifiers]
 * @property {AstNode} [imported]
 * @property {AstNode} [callee]
 * @property {readonly AstNode[]} [arguments]
 * @property {AstNode} [object]
 * @property {AstNode} [property]
 * @property {AstNode} [id]
 * @property {AstNode | null} [init]
 * @property {readonly AstNode[]} [properties]
 * @property {AstNode} [key]
 *
 * @typedef {object} RuleContext
 * @property {string} filename
 * @property {(problem: { message: string, node: AstNode }) => void} report
 */

/**
 * The rooms, lowest floor first. The empty name stands for files directly in src/.
 *
 * @type {Readonly<Record<string, Room>>}
 */
const HOUSE = {
  domain: { rooms: [] },
  ports: { rooms: ['domain'], node: 'types', packages: ['@ai-sdk/provider'] },

  engine: { rooms: ['domain', 'ports'], node: true, packages: ['@standard-schema/spec'] },
  'stores/shared': { rooms: ['domain', 'ports'] },
  'stores/sqlite': {
    rooms: ['domain', 'ports', 'stores/shared'],
    node: true,
    packages: ['@photostructure/sqlite'],
  },
  'stores/postgres': { rooms: ['domain', 'ports', 'stores/shared'], node: true, packages: ['pg'] },
  isolation: { rooms: ['domain', 'ports'], node: true, packages: ['tinypool'] },
  blobs: { rooms: ['domain', 'ports'], node: true, packages: ['@aws-sdk/client-s3'] },
  models: {
    rooms: ['domain', 'ports'],
    node: true,
    packages: [
      'ai',
      '@ai-sdk/provider',
      '@ai-sdk/openai',
      '@ai-sdk/anthropic',
      '@standard-schema/spec',
      'zod',
    ],
  },
  notify: { rooms: ['domain', 'ports'], node: true },

  http: {
    rooms: ['domain', 'engine'],
    types: ['ports'],
    node: true,
    packages: ['hono', '@hono/node-server', 'zod', '@fastify/busboy', '@standard-schema/spec'],
  },
  cli: { rooms: ['domain', 'engine'], types: ['ports'], node: true, packages: ['commander'] },

  testkit: {
    rooms: ['domain', 'ports', 'engine', 'stores/sqlite', 'stores/postgres', 'blobs', 'models', 'notify'],
    node: true,
    packages: 'any',
  },
  // Built-in workflows are written like a user's: no store, no surface, no wiring.
  examples: { rooms: ['domain', 'ports', 'engine', 'models'], node: true, packages: 'any' },

  main: { rooms: 'any', node: true, packages: 'any' },
  '': { rooms: 'any', node: true, packages: 'any' },
};

const SRC = resolve(dirname(fileURLToPath(import.meta.url)), '../../src');

/**
 * The room a file is in: undefined outside src, null in a folder that is no room.
 *
 * @param {string} file
 * @returns {string | null | undefined}
 */
function roomOf(file) {
  const path = relative(SRC, file).split(sep).join('/');
  if (path.startsWith('../')) return undefined;
  if (!path.includes('/')) return '';
  return Object.keys(HOUSE).find((room) => room !== '' && path.startsWith(`${room}/`)) ?? null;
}

/** @param {string} specifier */
function packageName(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** @param {string} specifier */
function isNodeModule(specifier) {
  return specifier.startsWith('node:') || builtinModules.includes(packageName(specifier));
}

/**
 * Why `file`, in `room`, may not import `specifier`; undefined when it may.
 *
 * @param {{ file: string, room: string, specifier: string, typeOnly: boolean }} wanted
 */
function objection({ file, room, specifier, typeOnly }) {
  const rules = HOUSE[room];
  if (rules === undefined) return undefined;
  const here = room === '' ? 'src' : `src/${room}`;
  if (specifier.startsWith('.')) {
    return roomObjection({ here, room, rules, target: roomOf(resolve(dirname(file), specifier)), typeOnly });
  }
  if (isNodeModule(specifier)) {
    const allowed = rules.node === true || (rules.node === 'types' && typeOnly);
    return allowed ? undefined : `${here} may not import Node's modules (${specifier}).`;
  }
  const name = packageName(specifier);
  const allowed = rules.packages ?? [];
  return allowed === 'any' || allowed.includes(name)
    ? undefined
    : `${here} may not import the package ${name}.`;
}

/**
 * @param {{ here: string, room: string, rules: Room, target: string | null | undefined, typeOnly: boolean }} wanted
 */
function roomObjection({ here, room, rules, target, typeOnly }) {
  if (target === undefined) return `${here} may not import from outside src.`;
  if (target === room || rules.rooms === 'any' || (target !== null && rules.rooms.includes(target))) {
    return undefined;
  }
  if (target !== null && rules.types?.includes(target)) {
    return typeOnly ? undefined : `${here} may import only types from src/${target}.`;
  }
  return `${here} may not import ${target === null ? 'from a folder that is no room' : `src/${target}`}.`;
}

/** @param {AstNode} node */
function isTypeOnly(node) {
  if (node.type === 'TSImportType' || node.importKind === 'type' || node.exportKind === 'type') return true;
  const specifiers = node.specifiers ?? [];
  return (
    specifiers.length > 0 && specifiers.every((one) => one.importKind === 'type' || one.exportKind === 'type')
  );
}

const imports = {
  /** @param {RuleContext} context */
  create(context) {
    const file = context.filename;
    const room = roomOf(file);
    if (room === undefined) return {};
    if (room === null) {
      return {
        /** @param {AstNode} node */
        Program(node) {
          context.report({
            node,
            message: 'This folder of src is no room of the house: scripts/lint/house.mjs.',
          });
        },
      };
    }
    /** @param {AstNode} node */
    const check = (node) => {
      const specifier = node.source?.value;
      if (typeof specifier !== 'string') return;
      const message = objection({ file, room, specifier, typeOnly: isTypeOnly(node) });
      if (message !== undefined) context.report({ node, message });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    };
  },
};

/** @param {AstNode} node */
function callsDate(node) {
  return node.callee?.type === 'Identifier' && node.callee.name === 'Date';
}

/**
 * `new Date(x)` converts; `new Date()` and `Date()` read the clock. Date.now and Math.random are
 * the linter's own no-restricted-properties.
 */
const noClock = {
  /** @param {RuleContext} context */
  create(context) {
    const message = 'This room has no clock: `now` is an argument.';
    return {
      /** @param {AstNode} node */
      NewExpression(node) {
        if (callsDate(node) && node.arguments?.length === 0) context.report({ node, message });
      },
      /** @param {AstNode} node */
      CallExpression(node) {
        if (callsDate(node)) context.report({ node, message });
      },
    };
  },
};

/**
 * The name a member or a property is called by, however it is written: `a.b` and `a['b']`.
 *
 * @param {AstNode | undefined} node
 */
function nameOf(node) {
  return node?.name ?? node?.value;
}

/** @param {AstNode | null | undefined} node */
function isProcess(node) {
  if (node?.type === 'MemberExpression') {
    return nameOf(node.object) === 'globalThis' && nameOf(node.property) === 'process';
  }
  return node?.type === 'Identifier' && node.name === 'process';
}

/** `process.env` in every spelling that names it: a member, a destructuring, an import. */
const noProcessEnv = {
  /** @param {RuleContext} context */
  create(context) {
    const message = 'Only src/main reads the environment; take the value as an argument.';
    return {
      /** @param {AstNode} node */
      MemberExpression(node) {
        if (isProcess(node.object) && nameOf(node.property) === 'env') context.report({ node, message });
      },
      /** @param {AstNode} node */
      VariableDeclarator(node) {
        if (!isProcess(node.init)) return;
        if (node.id?.properties?.some((one) => nameOf(one.key) === 'env')) context.report({ node, message });
      },
      /** @param {AstNode} node */
      ImportDeclaration(node) {
        const source = node.source?.value;
        if (source !== 'node:process' && source !== 'process') return;
        if (node.specifiers?.some((one) => nameOf(one.imported) === 'env')) context.report({ node, message });
      },
    };
  },
};

export default {
  meta: { name: 'house' },
  rules: { imports, 'no-clock': noClock, 'no-process-env': noProcessEnv },
};
