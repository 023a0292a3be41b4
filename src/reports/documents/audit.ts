import type { AuditReport, CheckReport, MutantReport } from '../../evaluation/audit/audit.ts';
import * as doc from '../document.ts';
import { formatFigure } from '../format.ts';

const VERDICT_STYLES: Readonly<Record<MutantReport['verdict'], doc.SpanStyle>> = {
  caught: 'good',
  slipped: 'bad',
  equivalent: 'dim',
  'not-applicable': 'dim',
};

/** How clearly the check that caught it best did so: the larger error ratio of its checks. */
function clearest({ results }: MutantReport): string {
  const ratios = results
    .filter(({ outcome }) => outcome === 'caught')
    .map(({ worstErrorRatio, rmsErrorRatio }) =>
      worstErrorRatio === null || rmsErrorRatio === null
        ? Number.POSITIVE_INFINITY
        : Math.max(worstErrorRatio, rmsErrorRatio),
    );
  if (ratios.length === 0) return '–';
  const largest = Math.max(...ratios);
  return Number.isFinite(largest) ? formatFigure(largest) : 'not finite';
}

type Outcome = MutantReport['results'][number]['outcome'];

const count =
  (outcome: Outcome) =>
  ({ results }: MutantReport): number =>
    results.filter((result) => result.outcome === outcome).length;

/** `B=2, H=3 · normal inputs` as `B=2,H=3 normal`: with three columns of figures it fits a terminal. */
const shortName = (check: string): string => check.replaceAll(', ', ',').replace(/ · (.*) inputs$/, ' $1');

const formatShare = (share: number): string =>
  share === 0 || share >= 0.001 ? formatFigure(share) : share.toExponential(0);

/** The largest share of its outputs. */
function shareOf({ outputs }: CheckReport): string {
  const shares = outputs.flatMap(({ share }) => share ?? []);
  return shares.length === 0 ? '–' : formatShare(Math.max(...shares));
}

const mutantTable = ({ mutants }: AuditReport) =>
  doc.table('Wrong kernels', mutants, [
    doc.names('verdict', ({ verdict }) => ({ text: verdict, style: VERDICT_STYLES[verdict] })),
    doc.names('wrong kernel', ({ id }) => id),
    doc.figures('caught', count('caught')),
    doc.figures('passes', count('slipped')),
    doc.figures('same', count('same'), 1),
    doc.figures('× tolerance', clearest),
  ]);

const checkTable = ({ sight }: AuditReport) =>
  doc.table('Checks', sight, [
    doc.words('check', ({ check }) => shortName(check)),
    doc.figures('catches', ({ caught }) => caught),
    doc.figures('passes', ({ accepted }) => accepted.length),
    doc.figures('tolerance ÷ spread', shareOf),
    doc.words('', ({ blind, isTimed }) => (blind !== null ? 'blind' : isTimed ? 'timed' : '')),
  ]);

const ON_EQUIVALENT = 'on every check its results are right, or err no more than honest additions may';

const remarks = ({ mutants, sight, blindChecks }: AuditReport) => [
  ...mutants.map(({ id, title, verdict }) =>
    verdict === 'slipped' ? `${id}: ${title}.` : verdict === 'equivalent' && `${id}: ${title}; ${ON_EQUIVALENT}.`,
  ),
  ...sight.map(({ check, blind }) => {
    const words = blindChecks.includes(check) ? 'Blind' : 'Blind, though other inputs see there';
    return blind !== null && `${words}, ${shortName(check)}: ${blind}.`;
  }),
];

const ORIGINAL =
  'There is no reference: right is what the original kernel computes, mistakes included. Read it, or write a reference.';

function conclusion({ ok, letThrough, blindChecks, checks, reference }: AuditReport) {
  return [
    reference === 'original' && doc.text(doc.bad(ORIGINAL)),
    letThrough.length > 0 && [
      doc.text(doc.bad(`Would slip through: ${letThrough.join(', ')}.`)),
      doc.text('Add check shapes or generators that tell them apart.'),
    ],
    blindChecks.length > 0 && [
      doc.text(doc.bad(`Blind checks: ${blindChecks.length} of ${checks.length}; nothing is judged by them.`)),
      doc.text('Tighten the comparison, or give them inputs whose results differ more.'),
    ],
    ok && doc.text(doc.good('No wrong kernel would slip through.')),
  ];
}

/** What a problem's checks would catch. */
export const auditDocument = (report: AuditReport): doc.Document =>
  doc.documentOf(
    `${report.problem}: ${report.checks.length} checks, seed ${report.seed}`,
    [],
    [
      doc.section('mutants', 'Wrong kernels', [mutantTable(report)]),
      doc.section('checks', 'What each check sees', [checkTable(report)]),
      doc.section('remarks', 'Remarks', [doc.list(remarks(report))]),
      doc.section('false-alarms', 'False alarms, where even the right output is refused', [
        doc.list(report.falseAlarms.map(shortName)),
      ]),
      doc.section('conclusion', 'Conclusion', conclusion(report)),
    ],
  );
