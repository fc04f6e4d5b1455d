//! Columns are taken out of a plot when it is written, and put back when it is read. Both traverse the plot
//! in the same way and differ only in what they do at each column.

use super::plot::{
    BoxSeries, Boxes, Distribution, Heat, Histogram, HistogramSeries, Line, Lines, Plot, PointSeries, Sample,
    Scatter,
};
use super::timeline::Timeline;

/// Replaces columns of numbers (`F`), of whole numbers (`U`) and of bytes (`B`).
pub trait Exchange<F, U, B> {
    type F;
    type U;
    type B;
    type Error;
    fn numbers(&mut self, column: &F) -> Result<Self::F, Self::Error>;
    fn whole(&mut self, column: &U) -> Result<Self::U, Self::Error>;
    fn bytes(&mut self, column: &B) -> Result<Self::B, Self::Error>;
}

/// A timeline with the replaced columns.
type ExchangedTimeline<E, F, U, B> =
    Timeline<<E as Exchange<F, U, B>>::F, <E as Exchange<F, U, B>>::U, <E as Exchange<F, U, B>>::B>;

/// A plot with the replaced columns.
type Exchanged<E, F, U, B> =
    Plot<<E as Exchange<F, U, B>>::F, <E as Exchange<F, U, B>>::U, <E as Exchange<F, U, B>>::B>;

impl<F, U, B> Plot<F, U, B> {
    /// Returns the same plot with every column replaced.
    pub fn exchange<E: Exchange<F, U, B>>(&self, with: &mut E) -> Result<Exchanged<E, F, U, B>, E::Error> {
        let numbers = &mut |column: &F| with.numbers(column);
        Ok(match self {
            Plot::Boxes(plot) => Plot::Boxes(boxes(plot, numbers)?),
            Plot::Lines(plot) => Plot::Lines(lines(plot, numbers)?),
            Plot::Distribution(plot) => Plot::Distribution(distribution(plot, numbers)?),
            Plot::Histogram(plot) => Plot::Histogram(histogram(plot, numbers)?),
            Plot::Scatter(plot) => Plot::Scatter(scatter(plot, numbers)?),
            Plot::Bars(plot) => Plot::Bars(plot.clone()),
            Plot::Heat(plot) => Plot::Heat(heat(plot, numbers)?),
            Plot::Timeline(plot) => Plot::Timeline(timeline(plot, with)?),
        })
    }
}

fn boxes<F, G, E>(plot: &Boxes<F>, column: &mut impl FnMut(&F) -> Result<G, E>) -> Result<Boxes<G>, E> {
    let series = (plot.series.iter()).map(|series| {
        Ok(BoxSeries {
            name: series.name.clone(),
            x: column(&series.x)?,
            low: column(&series.low)?,
            q1: column(&series.q1)?,
            median: column(&series.median)?,
            q3: column(&series.q3)?,
            high: column(&series.high)?,
            count: column(&series.count)?,
            median_low: column(&series.median_low)?,
            median_high: column(&series.median_high)?,
            outlier_x: column(&series.outlier_x)?,
            outlier_y: column(&series.outlier_y)?,
            reference: series.reference.as_ref().map(&mut *column).transpose()?,
        })
    });
    Ok(Boxes { x: plot.x.clone(), y: plot.y.clone(), series: series.collect::<Result<_, E>>()? })
}

fn lines<F, G, E>(plot: &Lines<F>, column: &mut impl FnMut(&F) -> Result<G, E>) -> Result<Lines<G>, E> {
    let series = (plot.series.iter()).map(|line| {
        Ok(Line {
            name: line.name.clone(),
            role: line.role,
            x: column(&line.x)?,
            y: column(&line.y)?,
            low: line.low.as_ref().map(&mut *column).transpose()?,
            high: line.high.as_ref().map(&mut *column).transpose()?,
        })
    });
    let series = series.collect::<Result<_, E>>()?;
    Ok(Lines { x: plot.x.clone(), y: plot.y.clone(), series, marks: plot.marks.clone() })
}

fn distribution<F, G, E>(
    plot: &Distribution<F>,
    column: &mut impl FnMut(&F) -> Result<G, E>,
) -> Result<Distribution<G>, E> {
    let series = (plot.series.iter()).map(|sample| {
        Ok(Sample { name: sample.name.clone(), values: column(&sample.values)?, sum: sample.sum })
    });
    let series = series.collect::<Result<_, E>>()?;
    Ok(Distribution { x: plot.x.clone(), series, marks: plot.marks.clone() })
}

fn histogram<F, G, E>(
    plot: &Histogram<F>,
    column: &mut impl FnMut(&F) -> Result<G, E>,
) -> Result<Histogram<G>, E> {
    let series = (plot.series.iter()).map(|series| {
        let (edges, counts) = (column(&series.edges)?, column(&series.counts)?);
        Ok(HistogramSeries { name: series.name.clone(), edges, counts, sum: series.sum })
    });
    Ok(Histogram { x: plot.x.clone(), y: plot.y.clone(), series: series.collect::<Result<_, E>>()? })
}

fn scatter<F, G, E>(plot: &Scatter<F>, column: &mut impl FnMut(&F) -> Result<G, E>) -> Result<Scatter<G>, E> {
    let series = (plot.series.iter()).map(|series| {
        let (x, y) = (column(&series.x)?, column(&series.y)?);
        Ok(PointSeries { name: series.name.clone(), x, y })
    });
    Ok(Scatter { x: plot.x.clone(), y: plot.y.clone(), series: series.collect::<Result<_, E>>()? })
}

fn heat<F, G, E>(plot: &Heat<F>, column: &mut impl FnMut(&F) -> Result<G, E>) -> Result<Heat<G>, E> {
    Ok(Heat {
        x: plot.x.clone(),
        y: plot.y.clone(),
        value: plot.value.clone(),
        xs: column(&plot.xs)?,
        ys: column(&plot.ys)?,
        values: column(&plot.values)?,
    })
}

fn timeline<F, U, B, E: Exchange<F, U, B>>(
    plot: &Timeline<F, U, B>,
    with: &mut E,
) -> Result<ExchangedTimeline<E, F, U, B>, E::Error> {
    Ok(Timeline {
        rows: plot.rows.clone(),
        kinds: plot.kinds.clone(),
        row: with.whole(&plot.row)?,
        start: with.numbers(&plot.start)?,
        end: with.numbers(&plot.end)?,
        kind: with.bytes(&plot.kind)?,
        peer: with.whole(&plot.peer)?,
        bytes: with.numbers(&plot.bytes)?,
        tag: with.whole(&plot.tag)?,
        arrow_from: with.whole(&plot.arrow_from)?,
        arrow_to: with.whole(&plot.arrow_to)?,
        arrow_sent: with.numbers(&plot.arrow_sent)?,
        arrow_received: with.numbers(&plot.arrow_received)?,
        arrow_bytes: with.numbers(&plot.arrow_bytes)?,
    })
}
