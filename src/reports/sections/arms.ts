import * as doc from '../document.ts';
import { formatFigure, formatMoney, formatRatio } from '../format.ts';
import type { ArmsView, ChoiceRow } from '../view/arms.ts';

const ARMS_NOTE =
  'Several proposed the moves of this run. Next is who was never asked, then who gains most for what a turn takes of what is left: ' +
  'mean gain (ln) ÷ mean share + how much more that may be. Old turns fade.';

const EARLIER_NOTE =
  'What they brought in earlier runs of this problem on this device counts as two old turns at most.';

/** Who shared the run, what each gave and took, and why it was asked. */
export const armsParts = ({ rows, choices }: ArmsView): doc.Part => [
  doc.heading('Who proposed'),
  doc.note(knowsEarlier(choices) ? `${ARMS_NOTE} ${EARLIER_NOTE}` : ARMS_NOTE),
  doc.table('Who proposed', rows, [
    doc.names('Who', ({ arm }) => arm),
    doc.figures('Turns', ({ turns }) => turns),
    doc.figures('Evaluations', ({ evaluations }) => evaluations),
    doc.figures('Kept', ({ kept }) => kept),
    doc.figures('Gain', ({ gain }) => formatRatio(gain)),
    doc.figures('Seconds', ({ seconds }) => formatFigure(seconds), 1),
    doc.figures('Tokens', ({ tokens }) => tokens, 2),
    rows.some(({ money }) => money !== null) && doc.figures('Money', ({ money }) => formatMoney(money), 2),
    doc.words('Ended', ({ ended }) => ended ?? '–', 3),
  ]),
  doc.fold(`Who was asked when, ${choices.length} choices`, [doc.list(choices.map(choiceLine))]),
];

const knowsEarlier = (choices: readonly ChoiceRow[]): boolean =>
  choices.some(({ arms }) => arms.some(({ earlier }) => earlier !== undefined));

/** `before iteration 4, model: 0.0412 ÷ 3.33 % + 0.210 = 1.45, …; others: patterns 0.83`. */
export function choiceLine({ iteration, arm, reason, arms }: ChoiceRow): doc.Item {
  const others = arms.filter((one) => one.arm !== arm && one.value !== null);
  const values = others.map((one) => `${one.arm} ${one.value!.toPrecision(3)}`).join(', ');
  return { term: `iteration ${iteration}`, text: `${arm}: ${reason}${values && `; ${values}`}` };
}
