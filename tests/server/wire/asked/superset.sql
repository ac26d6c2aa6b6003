-- sent by Apache Superset 6.1: SQL Lab, bar, table and time-series charts, filters, virtual datasets
SELECT
  ward,
  COUNT(*) AS n
FROM patients
GROUP BY
  ward
LIMIT 1001;

SELECT
  ward,
  AVG(age)
FROM public.patients
GROUP BY
  1
ORDER BY
  2 DESC
LIMIT 1001;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
GROUP BY
  ward
ORDER BY
  count DESC
LIMIT 1000;

SELECT
  ward AS ward,
  AVG(age) AS "AVG(age)"
FROM public.patients
GROUP BY
  ward
ORDER BY
  "AVG(age)" DESC
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count,
  AVG(age) AS "AVG(age)",
  SUM(age) AS "SUM(age)",
  COUNT(DISTINCT ward) AS "COUNT_DISTINCT(ward)",
  SUM(age) / COUNT(*) AS mean
FROM public.patients
GROUP BY
  ward
ORDER BY
  count DESC
LIMIT 1000;

SELECT
  ward AS ward,
  MAX(age) AS "MAX(age)"
FROM public.patients
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  age > 40 AND ward IN ('A', 'B')
GROUP BY
  ward
ORDER BY
  count DESC
LIMIT 1000;

SELECT
  COUNT(*) AS count
FROM public.patients
LIMIT 1000;

SELECT
  DATE_TRUNC('YEAR', born) AS born,
  COUNT(*) AS count
FROM public.patients
WHERE
  born >= TO_DATE('1950-01-01', 'YYYY-MM-DD')
  AND born < TO_DATE('1960-01-01', 'YYYY-MM-DD')
GROUP BY
  DATE_TRUNC('YEAR', born)
LIMIT 1000;

SELECT
  DATE_TRUNC('MONTH', born) AS born,
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
JOIN (
  SELECT
    ward AS ward__,
    COUNT(*) AS mme_inner__
  FROM public.patients
  WHERE
    born >= TO_DATE('1950-01-01', 'YYYY-MM-DD')
    AND born < TO_DATE('1951-01-01', 'YYYY-MM-DD')
  GROUP BY
    ward
  ORDER BY
    COUNT(*) DESC
  LIMIT 2
) AS series_limit
  ON ward = ward__
WHERE
  born >= TO_DATE('1950-01-01', 'YYYY-MM-DD')
  AND born < TO_DATE('1951-01-01', 'YYYY-MM-DD')
GROUP BY
  DATE_TRUNC('MONTH', born),
  ward
LIMIT 1000;

SELECT
  zip AS zip,
  COUNT(*) AS count
FROM public.patients
GROUP BY
  zip
ORDER BY
  count DESC
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  (
    age < 90
  )
GROUP BY
  ward
HAVING
  (
    COUNT(*) > 100
  )
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward
FROM public.patients
GROUP BY
  ward
LIMIT 1000;

SELECT
  CASE WHEN age < 50 THEN 'young' ELSE 'old' END AS who,
  COUNT(*) AS count
FROM public.patients
GROUP BY
  CASE WHEN age < 50 THEN 'young' ELSE 'old' END
LIMIT 1000;

SELECT
  ward AS ward,
  beds AS beds
FROM public.wards
LIMIT 1000;

SELECT
  ward AS ward,
  SUM(beds) AS "SUM(beds)"
FROM public.wards
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward,
  COUNT(*) AS n
FROM patients
GROUP BY
  ward
LIMIT 1;

SELECT
  ward AS ward,
  SUM(n) AS "SUM(n)"
FROM (
  SELECT
    ward,
    COUNT(*) AS n
  FROM patients
  GROUP BY
    ward
) AS virtual_table
GROUP BY
  ward
ORDER BY
  "SUM(n)" DESC
LIMIT 1000;

SELECT
  ward AS ward,
  MAX(n) AS "MAX(n)"
FROM (
  SELECT
    ward,
    COUNT(*) AS n
  FROM patients
  GROUP BY
    ward
) AS virtual_table
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  n AS n
FROM (
  SELECT
    ward,
    COUNT(*) AS n
  FROM patients
  GROUP BY
    ward
) AS virtual_table
ORDER BY
  n DESC
LIMIT 1000;

/* how many */
SELECT
  ward, /* mean */
  AVG(age) AS mean_age,
  COUNT(*)
FROM public.patients
WHERE
  age BETWEEN 20 AND 60
GROUP BY
  ward
HAVING
  COUNT(*) > 10
ORDER BY
  mean_age DESC
LIMIT 1001;

SELECT
  ward AS ward,
  AVG(age) AS "AVG(age)",
  MIN(age) AS "MIN(age)",
  MAX(age) AS "MAX(age)",
  COUNT(DISTINCT ward) AS "COUNT_DISTINCT(ward)"
FROM public.patients
GROUP BY
  ward
LIMIT 1000;

SELECT
  DATE_TRUNC('MONTH', born) AS born,
  COUNT(*) AS count
FROM public.patients
WHERE
  born >= TO_DATE('1950-01-01', 'YYYY-MM-DD')
  AND born < TO_DATE('1990-01-01', 'YYYY-MM-DD')
GROUP BY
  DATE_TRUNC('MONTH', born)
LIMIT 1000;

SELECT
  DATE_TRUNC('YEAR', born) AS born,
  COUNT(*) AS count
FROM public.patients
WHERE
  born >= TO_DATE('1950-01-01', 'YYYY-MM-DD')
  AND born < TO_DATE('1990-01-01', 'YYYY-MM-DD')
GROUP BY
  DATE_TRUNC('YEAR', born)
LIMIT 1000;

SELECT
  DATE_TRUNC('QUARTER', born) AS born,
  COUNT(*) AS count
FROM public.patients
WHERE
  born >= TO_DATE('1950-01-01', 'YYYY-MM-DD')
  AND born < TO_DATE('1990-01-01', 'YYYY-MM-DD')
GROUP BY
  DATE_TRUNC('QUARTER', born)
LIMIT 1000;

SELECT
  DATE_TRUNC('YEAR', born) AS born,
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
JOIN (
  SELECT
    ward AS ward__,
    COUNT(*) AS mme_inner__
  FROM public.patients
  GROUP BY
    ward
  ORDER BY
    COUNT(*) DESC
  LIMIT 2
) AS series_limit
  ON ward = ward__
GROUP BY
  DATE_TRUNC('YEAR', born),
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  ward IN ('A', 'B')
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  age >= 18 AND age < 65
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  born >= TO_DATE('1950-01-01', 'YYYY-MM-DD')
  AND born < TO_DATE('1970-01-01', 'YYYY-MM-DD')
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  zip LIKE '021%'
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  ward ILIKE 'a%'
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  NOT zip IS NULL
GROUP BY
  ward
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
WHERE
  (
    (
      age > 30
    )
  )
GROUP BY
  ward
HAVING
  (
    (
      COUNT(*) > 10
    )
  )
LIMIT 1000;

SELECT
  ward AS ward,
  SUM(age) / COUNT(*) AS mean
FROM public.patients
GROUP BY
  ward
LIMIT 1000;

SELECT
  CASE WHEN age >= 65 THEN 'old' ELSE 'young' END AS "old",
  COUNT(*) AS count
FROM public.patients
GROUP BY
  CASE WHEN age >= 65 THEN 'old' ELSE 'young' END
LIMIT 1000;

SELECT
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
GROUP BY
  ward
ORDER BY
  count DESC
LIMIT 5;

SELECT
  COUNT(*) AS rowcount
FROM (
  SELECT
    ward AS ward,
    COUNT(*) AS count
  FROM public.patients
  GROUP BY
    ward
  LIMIT 1000
) AS rowcount_qry;

SELECT
  ward AS ward
FROM public.patients
GROUP BY
  ward
ORDER BY
  ward ASC
LIMIT 1000;

SELECT
  MIN(age) AS min,
  MAX(age) AS max
FROM public.patients
LIMIT 1000;

SELECT
  zip AS zip,
  COUNT(*) AS count
FROM public.patients
GROUP BY
  zip
LIMIT 1000;

SELECT DISTINCT ward AS column_values 
FROM public.patients 
 LIMIT 10000;

SELECT
  DATE_TRUNC('YEAR', born) AS born,
  ward AS ward,
  COUNT(*) AS count
FROM public.patients
GROUP BY
  DATE_TRUNC('YEAR', born),
  ward
ORDER BY
  count DESC
LIMIT 1000;
