// Draws the charts that the page describes in #charts. The page's data attributes tell a test how it went:
// data-charts (described), data-drawn (canvases with ink on them), data-errors (absent when all is well).
'use strict';
(() => {
  const root = document.documentElement;
  const fail = (message) => { root.dataset.errors = (root.dataset.errors ? root.dataset.errors + '; ' : '') + message; };
  window.addEventListener('error', (event) => fail(event.message));

  const described = JSON.parse(document.getElementById('charts').textContent);
  // Okabe and Ito's palette: told apart by colour-blind readers too. The yellow is left out: too pale on paper. Behind it some of
  // Tol's muted colours, for stacks of many parts.
  const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#7f7f7f', '#8c564b',
    '#882255', '#44aa99', '#999933', '#aa4499', '#ddcc77', '#332288'];
  const shapes = ['circle', 'triangle', 'rect', 'rectRot', 'star', 'crossRot'];
  const dashes = [[], [8, 3], [2, 3], [8, 3, 2, 3]];
  const drawn = [];

  const look = () => {
    const style = getComputedStyle(root);
    return { ink: style.getPropertyValue('--ink').trim(), line: style.getPropertyValue('--line').trim() };
  };
  const shown = (value) => {
    if (value === null || value === undefined) return '-';
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
    return value.toLocaleString('en', { maximumSignificantDigits: size >= 1000 ? 6 : 4 });
  };
  const scale = (axis, colours_of_page, extra) => ({
    type: axis.log ? 'logarithmic' : 'linear',
    title: { display: true, text: axis.label, color: colours_of_page.ink },
    grid: { color: (line) => (line.tick && line.tick.value === 0 ? colours_of_page.ink : colours_of_page.line) },
    ticks: {
      color: colours_of_page.ink,
      maxRotation: 0,
      // On a logarithmic axis only 1, 2 and 5 of each decade, or labels run together.
      callback(value) {
        if (axis.log && ![1, 2, 5].includes(Number(value.toExponential()[0]))) return '';
        return shown(Number(value));
      },
    },
    ...extra,
  });

  const lines = (chart, page) => ({
    type: 'scatter',
    data: {
      datasets: chart.series.map((series, i) => ({
        label: series.name,
        data: series.points.filter((p) => p.x !== null && p.y !== null && !(chart.x.log && p.x <= 0) && !(chart.y.log && p.y <= 0)),
        borderColor: colours[i % colours.length],
        backgroundColor: colours[i % colours.length],
        showLine: series.style !== 'points',
        stepped: series.style === 'steps',
        borderWidth: 2,
        borderDash: series.style === 'dashed' ? [6, 4] : series.style === 'line' ? dashes[Math.floor(i / colours.length) % dashes.length] : [],
        pointStyle: shapes[i % shapes.length],
        pointRadius: series.style === 'points' || series.style === 'trail' ? 4 : 0,
        pointHitRadius: 6,
      })),
    },
    options: {
      scales: { x: scale(chart.x, page), y: scale(chart.y, page, chart.y.log ? {} : { beginAtZero: true }) },
      plugins: {
        tooltip: {
          callbacks: {
            label(item) {
              const name = item.raw.label ? `${item.dataset.label}: ${item.raw.label}` : item.dataset.label;
              return `${name} (${shown(item.raw.x)}, ${shown(item.raw.y)})`;
            },
          },
        },
      },
    },
  });

  // Down the side every category has its name; below, names give way where they would run together.
  const categories = (chart, page) => ({ grid: { display: false }, ticks: { color: page.ink, autoSkip: !chart.horizontal } });

  const bars = (chart, page) => {
    const value = scale(chart.value, page, { stacked: chart.stacked });
    const category = { stacked: chart.stacked, ...categories(chart, page) };
    return {
      type: 'bar',
      data: {
        labels: chart.categories,
        datasets: chart.series.map((series, i) => ({ label: series.name, data: series.values, backgroundColor: colours[i % colours.length] })),
      },
      options: {
        indexAxis: chart.horizontal ? 'y' : 'x',
        scales: chart.horizontal ? { x: value, y: category } : { x: category, y: value },
        plugins: {
          tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${shown(chart.horizontal ? item.parsed.x : item.parsed.y)}` } },
        },
      },
    };
  };

  // A bar from low to high with a point in the middle.
  const intervals = (chart, page) => ({
    type: 'bar',
    data: {
      labels: chart.categories,
      datasets: [
        { label: chart.middle, type: 'line', showLine: false, data: chart.middles, pointRadius: 5, backgroundColor: colours[1], borderColor: colours[1] },
        { label: 'interval', data: chart.intervals, backgroundColor: colours[0], barThickness: 8 },
      ],
    },
    options: {
      indexAxis: 'y',
      scales: { x: scale(chart.value, page), y: categories({ horizontal: true }, page) },
      plugins: {
        tooltip: {
          callbacks: {
            label(item) {
              if (item.datasetIndex === 0) return `${chart.middle}: ${shown(item.parsed.x)}`;
              const ends = chart.intervals[item.dataIndex];
              return ends ? `${shown(ends[0])} to ${shown(ends[1])}` : '';
            },
          },
        },
      },
    },
  });
  const kinds = { lines, bars, intervals };

  const draw = () => {
    while (drawn.length) drawn.pop().destroy();
    const page = look();
    described.forEach((chart, i) => {
      const config = kinds[chart.type](chart, page);
      config.options.animation = false;
      config.options.maintainAspectRatio = false;
      config.options.plugins.legend = {
        display: chart.type === 'intervals' || chart.series.length > 1,
        labels: { color: page.ink, usePointStyle: chart.type !== 'bars', boxWidth: 12, boxHeight: 7 },
      };
      try {
        drawn.push(new Chart(document.getElementById(`chart-${i}`), config));
      } catch (error) {
        fail(`chart ${i}: ${error.message}`);
      }
    });
  };
  const inked = () => [...document.querySelectorAll('canvas')].filter((canvas) => {
    if (!canvas.width || !canvas.height) return false;
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.some((value, i) => i % 4 === 3 && value > 0);
  }).length;

  draw();
  root.dataset.charts = String(described.length);
  root.dataset.drawn = String(inked());
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  // Canvases keep the colours they were drawn in: paper wants the print style's.
  window.addEventListener('beforeprint', draw);
  window.addEventListener('afterprint', draw);
})();
