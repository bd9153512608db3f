// The rules of web/.  `npm run lint` reports warnings as errors.  Layout is prettier's job
// (`npm run format`); the rules here are about what a reader has to keep in mind.
import js from '@eslint/js';
import globals from 'globals';
import tseslint from 'typescript-eslint';

/** One thought at a time: the same habits as in the C sources. */
const readable = {
  'no-sequences': ['error', { allowInParentheses: false }], // one statement per line
  'no-multi-assign': 'error', // one assignment per statement
  'no-nested-ternary': 'error', // a function with early returns says it better
  'one-var': ['error', 'never'], // one declaration per line
  'max-len': [
    'error',
    { code: 100, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true },
  ],
};

/** Small parts, so that a file has one concern and a function fits on a page. */
const small = {
  'max-lines': ['error', { max: 250, skipBlankLines: true, skipComments: true }],
  'max-lines-per-function': ['error', { max: 60 }],
};

/** Mistakes that the compiler lets through. */
const safe = {
  eqeqeq: 'error',
  'no-shadow': 'error', // two things with one name in one place
};

export default tseslint.config(
  { ignores: ['dist', 'node_modules'] },
  js.configs.recommended,
  { rules: { ...readable, ...safe } },
  {
    files: ['**/*.ts'],
    extends: tseslint.configs.recommended,
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      ...small,
      'no-shadow': 'off',
      '@typescript-eslint/no-shadow': 'error', // knows about types
      '@typescript-eslint/no-floating-promises': 'error', // an answer nobody waits for needs `void`
      '@typescript-eslint/no-non-null-assertion': 'off', // `!` is used where the page's HTML decides
    },
  },
  {
    files: ['src/**/*.js'],
    languageOptions: { globals: globals.browser },
    rules: small,
  },
  {
    files: ['*.mjs', 'test/*.mjs'], // run by node; functions given to a browser run there
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
  },
);
