// Builds the addon next to this file: optimised, or by the dev profile when MULTIFORA_PROFILE=dev.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const profile = process.env.MULTIFORA_PROFILE === 'dev' ? [] : ['--release', '--strip'];
const cli = fileURLToPath(new URL('node_modules/.bin/napi', import.meta.url));
const build = spawnSync(cli, ['build', '--no-js', ...profile], {
  cwd: fileURLToPath(new URL('.', import.meta.url)),
  stdio: 'inherit',
});
process.exit(build.status ?? 1);
