import { relative } from 'node:path';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { courseDocument } from '../../reports/documents/course.ts';
import { lessonCheckDocument } from '../../reports/documents/lesson-check.ts';
import type { CommandContext, Run } from '../context.ts';
import { notePlatform, surroundings } from '../judging-request.ts';
import { printJson, printLines, printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

type Request = RequestOf<'learn'>;

const WAYS: Readonly<Record<string, Run<Request>>> = { all: list, check };

export const run: Run<Request> = async (request, context) => {
  const { lesson } = completeRequest('learn', request);
  refuseOutput(request);
  return (WAYS[lesson] ?? begin)({ ...request, lesson }, context);
};

/** @throws WarpsmithError `conflicting-options`. */
function refuseOutput({ lesson = 'all', output }: Request): void {
  if (output === undefined || WAYS[lesson] === undefined) return;
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: '--output says where the start of one lesson goes.',
    path: '--output',
    received: `--output with ${lesson}`,
    expected: 'a lesson, such as 03',
    hint: 'For example: warpsmith learn 03 --output my-folder',
  });
}

async function list(_request: Request, context: CommandContext): Promise<number> {
  const { listLessons } = await import('../../app/course/list-lessons.ts');
  printResult(context, await listLessons(), courseDocument);
  return EXIT.ok;
}

async function begin(request: Request, context: CommandContext): Promise<number> {
  const { beginLesson } = await import('../../app/course/begin-lesson.ts');
  const view = await beginLesson(request as Request & { lesson: string });
  if (context.json) {
    printJson(context.streams, view);
    return EXIT.ok;
  }
  const folder = relative('.', view.folder) || '.';
  const where = view.wasThere ? `${folder} was there, and is as you left it.` : `Copied to ${folder}.`;
  const steps = [where, `Edit ${folder}/kernel/kernel.cu, then: warpsmith learn check ${folder}`];
  printLines(context.streams, [...view.page.trimEnd().split('\n'), '', '---', ...steps]);
  return EXIT.ok;
}

async function check(request: Request, context: CommandContext): Promise<number> {
  const { checkLesson } = await import('../../app/course/check-lesson.ts');
  notePlatform({}, context);
  const asked = { ...request, ...surroundings(context) };
  const view = await withStatus(context.streams.err, (told) => checkLesson({ ...asked, ...told }));
  printResult(context, view, lessonCheckDocument);
  return view.solved ? EXIT.ok : EXIT.judgedFailed;
}
