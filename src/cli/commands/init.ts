import { Missing } from '../../app/init/missing.ts';
import { initAgent } from '../../app/init-agent.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { DRAFTING } from '../../core/requests/commands.ts';
import { PARAMETERS } from '../../core/requests/kinds.ts';
import { completeRequest, longFlag, type RequestOf } from '../../core/requests/request.ts';
import * as doc from '../../reports/document.ts';
import type { CommandContext, Run } from '../context.ts';
import { printResult } from '../output.ts';
import { terminalQuestion } from '../terminal-question.ts';

type Request = RequestOf<'init'>;

export const run: Run<Request> = async (request, context) => {
  await (isSource(request.target) && request.agent === undefined ? initSource : initFolder)(request, context);
  return EXIT.ok;
};

const isSource = (target: string): boolean => /\.(?:cu|cuh|cpp|cc|cxx|c|h|hpp)$/.test(target);

async function initFolder(request: Request, context: CommandContext): Promise<void> {
  refuseDrafting(request);
  const written = await initAgent(request);
  printResult(context, { schemaVersion: 1, kind: 'init', ...written, notes: [] }, ({ folder, files }) =>
    doc.documentOf(`An agent can begin in ${folder}.`, [doc.list([...files])]),
  );
}

/** @throws WarpsmithError `conflicting-options`. */
function refuseDrafting(request: Request): void {
  const given = Object.entries(DRAFTING).find(([field]) => request[field as keyof Request] !== undefined);
  if (given === undefined) return;
  const flag = longFlag(given[1]);
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} says something about a .cu file; ${request.target} is none, or --agent is given.`,
    path: flag,
    received: `${flag} with ${request.agent === undefined ? request.target : '--agent'}`,
    expected: 'a .cu file without --agent',
    hint: 'First make the problem folder, then write the folder of the agent for it.',
  });
}

async function initSource(request: Request, context: CommandContext): Promise<void> {
  const { initProblem } = await import('../../app/init/init-problem.ts');
  const ask = terminalQuestion(context);
  for (let asked = request; ; ) {
    try {
      const { target, output, ...options } = completeRequest('init', asked);
      const report = await initProblem(target, options, output);
      printResult(context, report, ({ folder, files, notes }) =>
        doc.documentOf(`Problem folder ${folder}.`, [
          doc.list([...files]),
          doc.list([...notes]),
          doc.text(nextSteps(folder)),
        ]),
      );
      return;
    } catch (error) {
      const answer = error instanceof Missing && ask ? await ask(`${error.message}\n${error.subject}: `) : '';
      if (!(error instanceof Missing) || answer.trim() === '') throw error;
      asked = answered(asked, error, answer.trim());
    }
  }
}

const nextSteps = (folder: string): string =>
  `Read README.md there, then: warpsmith check ${folder}; warpsmith audit ${folder}; warpsmith evaluate ${folder}`;

/** The request with what was answered at the terminal. */
function answered(request: Request, { option, subject }: Missing, answer: string): Request {
  switch (option) {
    case 'value':
      return { ...request, values: PARAMETERS.read('--value', `${subject}=${answer}`, request.values) };
    case 'buffer':
      return { ...request, buffers: [...(request.buffers ?? []), `${subject}=${answer}`] };
    case 'kernel':
      return { ...request, kernels: [...(request.kernels ?? []), answer] };
    default:
      return { ...request, [option]: answer };
  }
}
