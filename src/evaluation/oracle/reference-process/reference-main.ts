import { stripTypeScriptTypes } from 'node:module';
import process from 'node:process';
import { callReference, type ReferenceModule } from '../../../core/call-reference.ts';
import type { ReferenceFunction, ReferenceRowsFunction, Rows } from '../../../core/problem.ts';
import type { LineMessage } from '../../../process/line-messages.ts';
import { serveLines } from '../../../process/serve-lines.ts';
import { perturbInputs } from '../perturbed-inputs.ts';
import { confine } from './confine.ts';
import { type Answer, type Question, tensorsOf, withTensors } from './protocol.ts';

/*
 * The process in which a problem's reference runs. One argument: the URL of the module. It starts under Node's permission
 * model (see reference-host.ts) and closes its gaps before it loads the module.
 */

const url = process.argv[2]!;
const texts = new Map<string, string>();
let loaded: ReferenceModule | undefined;

const answer = (header: Answer): LineMessage => withTensors(header, {});

function strip(text: string): Answer {
  try {
    return { kind: 'stripped', javaScript: stripTypeScriptTypes(text) };
  } catch {
    return { kind: 'stripped' };
  }
}

async function load(javaScript: string | undefined): Promise<Answer> {
  if (javaScript !== undefined) texts.set(url, javaScript);
  try {
    const module: Record<string, unknown> = await import(/* @vite-ignore */ url);
    const { reference, referenceRows, mistakes } = module;
    if (typeof reference === 'function') {
      loaded = {
        reference: reference as ReferenceFunction,
        referenceRows: typeof referenceRows === 'function' ? (referenceRows as ReferenceRowsFunction) : undefined,
        ...(typeof mistakes === 'object' && { mistakes: mistakes as Record<string, ReferenceFunction> }),
      };
    }
    return { kind: 'loaded', exports: Object.keys(module), hasReference: loaded !== undefined };
  } catch (error) {
    const isError = error instanceof Error;
    return {
      kind: 'not-loaded',
      name: isError ? error.name : typeof error,
      message: isError ? error.message : `${error}`,
      ...(isError && typeof error.stack === 'string' && { stack: error.stack }),
    };
  }
}

const rowsFrom = (names: readonly string[], message: LineMessage): Rows =>
  Object.fromEntries(Object.entries(tensorsOf(names, message)).map(([name, rows]) => [name, Uint32Array.from(rows)]));

function run(question: Question & { command: 'run' }, message: LineMessage): LineMessage {
  const { names, rowsOf, perturbation } = question;
  const given = tensorsOf(names, message);
  // What was received is ours: inputs may have a gigabyte, and need no second place.
  const inputs = perturbation ? perturbInputs(given, perturbation, (values) => values) : given;
  const rows = rowsOf && rowsFrom(rowsOf, { ...message, payloads: message.payloads.slice(names.length) });
  const outcome = callReference(loaded!, { ...question, inputs, rows });
  if (!outcome.ok) return answer({ kind: 'fault', fault: outcome.fault });
  return withTensors({ kind: 'done', names: Object.keys(outcome.outputs) }, outcome.outputs);
}

serveLines(async (message) => {
  const question = message.header as unknown as Question;
  if (question.command === 'run') return run(question, message);
  return answer(question.command === 'strip' ? strip(question.text) : await load(question.javaScript));
});
confine(url, texts);
