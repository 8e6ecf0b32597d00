// Builds the addon next to this file: optimised, or by the dev profile when MULTIFORA_PROFILE=dev.
//
// The dev build calls cargo itself: napi always names a target, and cargo would then build everything a second
// time beside what the other crates' tests have built.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

function run(program, ...args) {
  const done = spawnSync(program, args, { cwd: here, stdio: ['inherit', 'pipe', 'inherit'], maxBuffer: 1 << 30 });
  if (done.status !== 0) process.exit(done.status ?? 1);
  return done.stdout.toString();
}

if (process.env.MULTIFORA_PROFILE === 'dev') {
  const messages = run('cargo', 'build', '--locked', '-p', 'multifora-node', '--message-format=json-render-diagnostics');
  const artifacts = messages.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const library = artifacts.findLast((m) => m.reason === 'compiler-artifact' && m.target.name === 'multifora_node');
  copyFileSync(library.filenames.find((name) => /\.(so|dylib|dll)$/.test(name)), join(here, 'multiforadb.node'));
} else {
  run(join(here, 'node_modules', '.bin', 'napi'), 'build', '--no-js', '--release', '--strip');
}
